"""``tf.contrib.summary``: summaries that a step writes itself, at some steps, to a writer in its scope.

The program's process writes: a session on other machines sends the values there.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.config.file_roots import path_text
from actorsession.graph.default_session import get_default_session
from actorsession.graph.dtypes import int64
from actorsession.graph.graph import control_dependencies, device
from actorsession.graph.operation import Operation, Tensor
from actorsession.interop import GraphDef, graph_def_of
from actorsession.interop.event_protos import Event, Summary
from actorsession.ops import raw
from actorsession.opsets.summaries import functions
from actorsession.opsets.summaries.event_files import EventFileWriter
from actorsession.process_bound import ProcessBound
from actorsession.train import get_or_create_global_step

__all__ = [
    "SummaryWriter", "all_summary_ops", "always_record_summaries", "audio", "create_file_writer",
    "create_summary_file_writer", "eval_dir", "flush", "generic", "graph", "histogram", "image",
    "import_event", "initialize", "never_record_summaries", "record_summaries_every_n_global_steps",
    "scalar", "should_record_summaries", "summary_writer_initializer_op",
]  # fmt: skip

_OPS, _INITS = "_SUMMARY_V2", "_SUMMARY_WRITER_INIT_V2"


class _Scope(threading.local):
    """What holds where a summary is built: the writer, and when summaries are recorded."""

    writer: Any = None
    record: Any = False


_scope = _Scope()


class SummaryWriter(ProcessBound):
    """A writer of summaries that steps write themselves.

    Args:
        logdir: the folder; nothing is written without one.
        max_queue: how many events wait until they are written together.
        flush_millis: milliseconds after which waiting events are written with the next one.
        filename_suffix: appended to the names of files.
    """

    def __init__(
        self,
        logdir: Any,
        max_queue: int | None = None,
        flush_millis: float | None = None,
        filename_suffix: str | None = None,
    ) -> None:
        self._folder = None if logdir is None else path_text(logdir, "logdir")
        self._settings = (
            10 if max_queue is None else int(max_queue),
            120 if flush_millis is None else flush_millis / 1000,
            filename_suffix,
        )
        self._file: EventFileWriter | None = None
        if self._folder is not None:
            with get_default_graph().control_dependencies(None):
                self._init = _call(self._open)
            get_default_graph().add_to_collection(_INITS, self._init)

    def _open(self) -> EventFileWriter:
        assert self._folder is not None
        if self._file is None:
            self._file = EventFileWriter(self._folder, *self._settings)
        self._file.reopen()
        return self._file

    def _add(self, event: Event) -> None:
        event.wall_time = time.time()
        self._open().write(event.SerializeToString())

    def set_as_default(self) -> None:
        """Let summaries that are built from now on go to this writer."""
        _scope.writer = self

    @contextlib.contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """Let summaries that are built in the block go to this writer; what waits is flushed at its end."""
        before, _scope.writer = _scope.writer, self
        try:
            yield self
            if self._file is not None:
                self._file.flush()
        finally:
            _scope.writer = before

    def init(self) -> Operation | None:
        """Return the operation that creates the file."""
        return None if self._folder is None else self._init

    def flush(self) -> Operation | None:
        """Return the operation that writes what waits to disk."""
        return None if self._folder is None else _call(lambda: self._open().flush())

    def close(self) -> Operation | None:
        """Return the operation that ends the file."""
        return None if self._folder is None else _call(lambda: self._open().close())


def _call(function: Callable[..., Any], *values: Any) -> Operation:
    """Return an operation that calls a function in the program's process."""

    def act(*arrays: Any) -> list[Any]:
        function(*arrays)
        return []

    with device("/cpu:0"):
        op = ops.py_func(act, list(values), [])
    assert isinstance(op, Operation)
    return op


def create_file_writer(
    logdir: Any,
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Return a writer of summaries.

    Args:
        logdir: the folder; nothing is written without one.
        max_queue: how many events wait until they are written together.
        flush_millis: milliseconds after which waiting events are written with the next one.
        filename_suffix: appended to the names of files.
        name: accepted for compatibility.
    """
    return SummaryWriter(logdir, max_queue, flush_millis, filename_suffix)


create_summary_file_writer = create_file_writer


# -- when summaries are recorded -----------------------------------------------------------------


@contextlib.contextmanager
def _recording(record: Any) -> Iterator[None]:
    before, _scope.record = _scope.record, record
    try:
        yield
    finally:
        _scope.record = before


def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block whose summaries are recorded at every step."""
    return _recording(True)


def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block whose summaries are not recorded."""
    return _recording(False)


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> contextlib.AbstractContextManager[None]:
    """Return a block whose summaries are recorded at steps whose number is a multiple of another.

    Args:
        n: that number.
        global_step: the global step; that of the graph if omitted.
    """
    step = get_or_create_global_step() if global_step is None else global_step
    with device("/cpu:0"):
        due = ops.equal(ops.cast(step, int64) % ops.cast(n, int64), ops.cast(0, int64))
    return _recording(due)


def should_record_summaries() -> Any:
    """Return whether summaries of this place are recorded: a bool, or a tensor."""
    return _scope.record


# -- summaries -----------------------------------------------------------------------------------


def _recorded(name: str, family: str | None, make: Callable[[str], Tensor], step: Any) -> Any:
    """Return an operation that writes a summary, if it is to be recorded.

    Args:
        name: name of the summary.
        family: prefix of the tag.
        make: makes the summary from its tag.
        step: the step that it belongs to; the global step if omitted.
    """
    writer, record = _scope.writer, _scope.record
    if writer is None or writer._folder is None or record is False:
        return ops.no_op()
    counter = get_or_create_global_step() if step is None else step
    with functions.summary_scope(name, family) as (tag, _):

        def write() -> Operation:
            return _call(
                lambda summary, number: writer._add(Event(summary=Summary.FromString(summary), step=int(number))),
                make(tag),
                ops.cast(counter, int64),
            )

        def written() -> Tensor:
            with control_dependencies([write()]):
                return ops.constant(True)

        op: Any
        if record is True:
            op = write()
        else:
            op = ops.cond(record, written, lambda: ops.constant(False)).op
    get_default_graph().add_to_collection(_OPS, op)
    return op


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Return an operation that writes a number.

    Args:
        name: name of the node, and with its scopes the tag.
        tensor: the number.
        family: prefix of the tag.
        step: the step that it belongs to; the global step if omitted.
    """
    return _recorded(name, family, lambda tag: raw.ScalarSummary(tag, tensor), step)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Return an operation that writes a distribution; arguments as for ``scalar``."""
    return _recorded(name, family, lambda tag: raw.HistogramSummary(tag, tensor), step)


def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None, step: Any = None
) -> Any:
    """Return an operation that writes images.

    Args:
        name: as for ``scalar``, like the other arguments.
        tensor: pixels, as for ``tf.summary.image``.
        bad_color: colour of pixels that are not finite; red if omitted.
        max_images: how many images of the batch are written.
        family: prefix of the tag.
        step: the step.
    """
    return _recorded(
        name, family, lambda tag: raw.ImageSummary(tag, tensor, max_images=max_images, bad_color=bad_color), step
    )


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None, step: Any = None
) -> Any:
    """Return an operation that writes sounds; arguments as for ``tf.summary.audio`` and ``scalar``."""
    return _recorded(
        name, family, lambda tag: raw.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs), step
    )


def generic(name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None) -> Any:
    """Return an operation that writes a tensor.

    Args:
        name: as for ``scalar``, like the other arguments.
        tensor: the tensor.
        metadata: a ``SummaryMetadata`` message, or its bytes.
        family: prefix of the tag.
        step: the step.
    """
    if metadata is None:
        metadata = b""
    elif not isinstance(metadata, bytes):
        metadata = metadata.SerializeToString()
    return _recorded(name, family, lambda tag: raw.TensorSummaryV2(tag, tensor, metadata), step)


def import_event(tensor: Any, name: str | None = None) -> Any:
    """Return an operation that writes an event as it is.

    Args:
        tensor: the bytes of an ``Event`` message.
        name: accepted for compatibility.
    """
    writer = _scope.writer
    if writer is None or writer._folder is None:
        return ops.no_op()
    return _call(lambda event: writer._open().write(bytes(np.asarray(event).item())), tensor)


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """Return an operation that writes a graph.

    Args:
        param: the bytes of a ``GraphDef``, a message, or a string tensor.
        step: the step that it belongs to.
        name: accepted for compatibility.
    """
    writer = _scope.writer
    if writer is None or writer._folder is None:
        return ops.no_op()
    content = param.SerializeToString() if isinstance(param, GraphDef) else param
    counter = get_or_create_global_step() if step is None else step
    return _call(
        lambda nodes, number: writer._add(Event(graph_def=bytes(np.asarray(nodes).item()), step=int(number))),
        content,
        ops.cast(counter, int64),
    )


# -- of the whole graph --------------------------------------------------------------------------


def all_summary_ops() -> list[Any]:
    """Return the operations of the default graph that write summaries."""
    return list(get_default_graph().get_collection(_OPS))


def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that create the files of the default graph's writers."""
    return list(get_default_graph().get_collection(_INITS))


def flush(writer: Any = None, name: str | None = None) -> Any:
    """Return an operation that writes what waits to disk.

    Args:
        writer: the writer; the one of this place if omitted.
        name: accepted for compatibility.
    """
    chosen = _scope.writer if writer is None else writer
    return ops.no_op() if chosen is None or chosen._folder is None else chosen.flush()


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Return the folder of the summaries of an evaluation.

    Args:
        model_dir: the folder of the model.
        name: name of the evaluation.
    """
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


def initialize(graph: Any = None, session: Any = None) -> None:
    """Create the files of the writers, and write a graph.

    Args:
        graph: the graph to write; none if omitted.
        session: the session; the default session if omitted.

    Raises:
        RuntimeError: if there is no writer at this place.
        ValueError: without a session.
    """
    if _scope.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = get_default_session() if session is None else session
    if session is None:
        raise ValueError("Argument `session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    writer = _scope.writer
    if graph is not None and writer._folder is not None:
        writer._add(Event(graph_def=graph_def_of(graph, add_shapes=True).SerializeToString()))
