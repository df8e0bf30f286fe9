"""SummaryWriter: numbers, pictures and texts of a training run, for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from . import charts, media, summary
from ._event_file import EventFile
from .model_graph import graph
from .projector import write_embedding

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
        self._embeddings = []
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
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        values = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(str(self.log_dir), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for value in values:
                writer._add(value, None, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None) -> None:
        """Adds a matplotlib figure, or a list of them, as a picture."""
        pixels = media.figure_picture(figure, close)
        self.add_image(
            tag, pixels, global_step, walltime, "NCHW" if isinstance(figure, list) else "CHW"
        )

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1,
        dataformats="CHW", labels=None,
    ) -> None:  # fmt: skip
        """Adds a picture with rectangles (left, top, right, bottom) drawn on it."""
        if isinstance(labels, str):
            labels = [labels]
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        value = media.image_with_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(value, global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None) -> None:
        """Adds videos (N, T, C, H, W) beside each other; needs pillow."""
        value = media.video(tag, vid_tensor, fps)
        if value is not None:
            self._add(value, global_step, walltime)

    def add_audio(
        self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None
    ) -> None:
        """Adds a sound; its values are from -1 to 1."""
        self._add(media.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_mesh(
        self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None,
        walltime=None,
    ) -> None:  # fmt: skip
        """Adds points in space (N, V, 3), their colours and the triangles between them."""
        value = media.mesh(tag, vertices, colors, faces, config_dict)
        self._add(value, global_step, walltime)

    def add_embedding(
        self, mat, metadata=None, label_img=None, global_step=None, tag="default",
        metadata_header=None,
    ) -> None:  # fmt: skip
        """Writes vectors (N, D) with labels and pictures for the projector."""
        log_dir = self._get_file_writer().get_logdir()
        listed = write_embedding(
            log_dir, mat, metadata, label_img, global_step, tag, metadata_header
        )
        self._embeddings.append(listed)
        with open(os.path.join(log_dir, "projector_config.pbtxt"), "w", encoding="utf-8") as out:
            out.write("".join(self._embeddings))

    def add_pr_curve(
        self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None,
        walltime=None,
    ) -> None:  # fmt: skip
        """Adds the precision-recall curve of predictions (0 to 1) for 0/1 labels."""
        value = charts.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(value, global_step, walltime)

    def add_pr_curve_raw(
        self, tag, true_positive_counts, false_positive_counts, true_negative_counts,
        false_negative_counts, precision, recall, global_step=None, num_thresholds=127,
        weights=None, walltime=None,
    ) -> None:  # fmt: skip
        """Adds a precision-recall curve from its counts."""
        rows = (true_positive_counts, false_positive_counts, true_negative_counts,
                false_negative_counts, precision, recall)  # fmt: skip
        value = charts.pr_curve_raw(tag, *rows, num_thresholds=num_thresholds)
        self._add(value, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None) -> None:
        """Adds a tensor."""
        self._add(charts.tensor(tag, tensor), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts,
        global_step=None, walltime=None,
    ) -> None:  # fmt: skip
        """Adds a distribution whose buckets were counted before."""
        value = charts.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(value, global_step, walltime)

    def add_custom_scalars(self, layout) -> None:
        """Says which numbers share a chart: {category: {title: [kind, tags]}}."""
        self._add(charts.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled") -> None:
        """Says that the numbers of ``tags`` share a chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled") -> None:
        """Says that a chart shows a number between two others: value, lower, upper."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_graph(
        self, model, input_to_model=None, verbose=False, use_strict_trace=True
    ) -> None:
        """Adds the graph of one call of a model: its functions, under its modules' names."""
        encoded = graph(model, input_to_model, verbose)
        self._get_file_writer().event_writer.add_graph(encoded)

    def add_onnx_graph(self, prototxt) -> None:
        """Refused: ONNX is."""
        raise NotImplementedError(
            "add_onnx_graph is not supported: rushlight reads no ONNX files. To show a model's "
            "graph use add_graph(model, input)."
        )

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
