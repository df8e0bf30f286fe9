"""Checkpoints of several processes: not there, but for the states of one (``state_dict``)."""

from rushlight import _absent

__getattr__ = _absent.names("distributed.checkpoint")
