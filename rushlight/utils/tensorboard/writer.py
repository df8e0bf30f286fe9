"""SummaryWriter: numbers, pictures and texts of a training run, for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from . import summary
from ._event_file import EventFile

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes encoded summaries to an event file in ``log_dir``."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.log_dir = str(log_dir)
        self.event_writer = EventFile(self.log_dir, filename_suffix)
        self._flush_secs, self._flushed = flush_secs, time.monotonic()

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_summary(self, values, global_step=None, walltime=None) -> None:
        """Adds encoded values; at most ``flush_secs`` later they are on disk."""
        self.event_writer.add_summary(values, global_step, walltime)
        if time.monotonic() - self._flushed > self._flush_secs:
            self.flush()

    def flush(self) -> None:
        """Writes what is buffered."""
        self._flushed = time.monotonic()
        self.event_writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Starts another file in the same folder."""
        self.event_writer = EventFile(self.log_dir)


class SummaryWriter:
    """Logs a run into event files of a folder.

    Args:
        log_dir: the folder; by default runs/DATE_HOST.
        comment: what follows the default folder's name.
        purge_step: has no effect.
        max_queue: has no effect.
        flush_secs: seconds after which what was added is on disk.
        filename_suffix: what follows the file's name.
    """

    def __init__(
        self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120,
        filename_suffix="",
    ):  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()

    def _get_file_writer(self):
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._writer_for(str(self.log_dir))
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
        return self.file_writer

    def _writer_for(self, folder):
        return FileWriter(folder, flush_secs=self.flush_secs, filename_suffix=self.filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _add(self, value, step, walltime) -> None:
        self._get_file_writer().add_summary(value, step, walltime)

    def add_scalar(
        self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
        double_precision=False,
    ):  # fmt: skip
        """Adds a number."""
        value = summary.scalar(tag, scalar_value, new_style, double_precision)
        self._add(value, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Adds several numbers to one chart, each in a folder of its own."""
        self._get_file_writer()
        base = self.file_writer.get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = base + "/" + main_tag.replace("/", "_") + "_" + tag
            writer = self.all_writers.get(folder)
            if writer is None:
                writer = self.all_writers[folder] = self._writer_for(folder)
            writer.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        """Adds the distribution of values."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Adds a picture."""
        value = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(value, global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Adds pictures beside each other."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Adds a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None,
                    global_step=None):  # fmt: skip
        """Adds the settings of a run and what came of them, in a folder of its own."""
        values = summary.hparams(hparam_dict, metric_dict)
        folder = os.path.join(str(self.log_dir), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for value in values:
                writer._add(value, None, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def _refuse(self, *args, **kwargs):
        raise NotImplementedError("this kind of summary cannot be written here")

    add_graph = add_figure = add_video = add_audio = add_embedding = add_mesh = _refuse
    add_pr_curve = add_onnx_graph = add_custom_scalars = _refuse

    def flush(self) -> None:
        """Writes what is buffered."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes what is buffered and closes the files; adding more starts new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
