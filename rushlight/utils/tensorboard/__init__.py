"""Logs of training runs that TensorBoard shows; the files are written here, without it."""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
