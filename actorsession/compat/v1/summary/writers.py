"""``FileWriter`` writes event files for boards, ``summary_iterator`` reads them.

The writers of ``opsets.summaries.event_files`` take events as bytes; here they are messages.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any, ClassVar, Self

from actorsession import interop
from actorsession.compat.v1.graphs.graph import as_compat_graph, get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.config.file_roots import path_text
from actorsession.errors import NotFoundError
from actorsession.graph.graph import Graph
from actorsession.interop.event_protos import Event, SessionLog, Summary
from actorsession.opsets.parsing.records import RecordReader
from actorsession.opsets.summaries.event_files import EventFileWriter
from actorsession.opsets.summaries.fields import double_field
from actorsession.process_bound import ProcessBound
from actorsession.protobuf.wire import WireError, as_bytes, fields, integer_field, length_field
from actorsession.train import Saver

__all__ = ["FileWriter", "FileWriterCache", "summary_iterator", "write_whole_graph"]

_log = get_logger()

# Fields of an ``Event``, and of a value of a summary.
_WALL_TIME, _STEP, _SUMMARY, _METADATA = 1, 2, 5, 9


class FileWriter(ProcessBound):
    """A writer of summaries, graphs and other events to the files of a folder.

    Args:
        logdir: the folder, created if it does not exist.
        graph: a graph to write at once.
        max_queue: how many events wait until they are written together.
        flush_secs: seconds after which waiting events are written with the next one.
        graph_def: the graph as a message, the older form of ``graph``.
        filename_suffix: appended to the names of files.
        session: accepted for compatibility; a writer writes by itself, not through a session.

    Raises:
        FailedPreconditionError: if ``logdir`` is a file.
        ValueError: for both a graph and a message.
        TypeError: for a graph that is none.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self.event_writer = EventFileWriter(_folder(logdir), int(max_queue or 0), flush_secs, filename_suffix)
        self._tags_with_metadata: set[str] = set()
        self._run_tags: set[str] = set()
        # A graph that is written with the next event, because more may be built until then.
        self._waiting_graph: Any = None
        if graph is not None or graph_def is not None:
            self._add_first_graph(graph, graph_def)

    def _add_first_graph(self, graph: Any, graph_def: Any) -> None:
        if isinstance(graph, Graph) and graph_def is None:
            write_whole_graph(self, graph)
            return
        self.add_graph(graph, graph_def=graph_def)
        nodes = graph if graph_def is None else graph_def
        self.add_meta_graph(interop.export_meta_graph(graph_def=nodes, graph=as_compat_graph(get_default_graph())))

    # -- events --------------------------------------------------------------------------------

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
            summary: a ``Summary``, or its bytes as a summary operation returns them.
            global_step: the step that it belongs to.

        Raises:
            DataLossError: for bytes that are no summary.
        """
        if isinstance(summary, (bytes, str)):
            content = summary if isinstance(summary, bytes) else summary.encode()
            if _has_no_metadata(content):
                self._add_bytes(content, global_step)
                return
            summary = Summary.FromString(content)
        event = Event(summary=_without_repeated(summary, self._tags_with_metadata))
        self._add(event, global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Write that a session began, ended or wrote a checkpoint.

        Args:
            session_log: the message.
            global_step: the step at that time.
        """
        self._add(Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write a graph; a graph without a form of TensorFlow's is only a warning in the log.

        Args:
            graph: the graph.
            global_step: the step that it belongs to.
            graph_def: the graph as a message instead.

        Raises:
            ValueError: for both.
            TypeError: for a graph that is none.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        written = graph_def if graph is None else graph
        if isinstance(written, Graph):
            try:
                written = interop.graph_def_of(written, add_shapes=True)
            except ValueError as exc:
                _log.warning("the graph is not written: %s", exc)
                return
        elif not isinstance(written, interop.GraphDef):
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, got "
                f"{type(written).__name__}"
            )
        self._add(Event(graph_def=written.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Write a graph with its collections.

        Args:
            meta_graph_def: the message.
            global_step: the step that it belongs to.

        Raises:
            TypeError: for anything else.
        """
        if not isinstance(meta_graph_def, interop.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Write the metadata of a run: times of nodes, and partition graphs.

        Args:
            run_metadata: the message.
            tag: a name, used once.
            global_step: the step that it belongs to.

        Raises:
            ValueError: for a tag that was used before.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        event = Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add(event, global_step)

    def add_event(self, event: Event) -> None:
        """Write an event as it is.

        Raises:
            TypeError: for anything else.
        """
        if not isinstance(event, Event):
            raise TypeError(f"an event is an Event message, got {type(event).__name__}")
        self._warn_if_closed()
        self.event_writer.write(event.SerializeToString())

    def _add_bytes(self, summary: bytes, step: Any) -> None:
        """Write a summary that needs no change, without a message in between."""
        self._write_waiting_graph()
        self._warn_if_closed()
        number = 0 if step is None else int(step)
        count = integer_field(_STEP, number & 0xFFFFFFFFFFFFFFFF) if number else b""
        head = double_field(_WALL_TIME, time.time()) + count
        self.event_writer.write(head + length_field(_SUMMARY, summary))

    def _add(self, event: Event, step: Any) -> None:
        self._write_waiting_graph()
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def _write_waiting_graph(self) -> None:
        graph, self._waiting_graph = self._waiting_graph, None
        if graph is not None:
            write_whole_graph(self, graph)

    # -- the file ------------------------------------------------------------------------------

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def flush(self) -> None:
        """Write waiting events to disk."""
        self._warn_if_closed()
        self._write_waiting_graph()
        self.event_writer.flush()

    def close(self) -> None:
        """Write waiting events and end the file; ``reopen`` begins another one."""
        self._write_waiting_graph()
        self.event_writer.close()

    def reopen(self) -> None:
        """Begin a new file, if the current one is closed."""
        self.event_writer.reopen()

    def _warn_if_closed(self) -> None:
        if self.event_writer.closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=4,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def write_whole_graph(writer: Any, graph: Any, saver: Any = None) -> None:
    """Write a graph, and then the graph with its collections.

    Args:
        writer: a ``FileWriter``, or an object with the same methods.
        graph: the graph; one without a form of TensorFlow's is only a warning in the log.
        saver: a saver that is written with the collections.
    """
    if isinstance(writer, FileWriter):
        writer._waiting_graph = None
    definition = interop.saver_to_proto(saver) if isinstance(saver, Saver) else None
    try:
        nodes = interop.graph_def_of(graph, add_shapes=True)
        meta_graph = interop.export_meta_graph(graph_def=nodes, saver_def=definition, graph=as_compat_graph(graph))
    except ValueError as exc:
        _log.warning("the graph is not written: %s", exc)
        return
    if isinstance(writer, FileWriter):
        writer.add_graph(None, graph_def=nodes)
    else:
        writer.add_graph(graph)
    writer.add_meta_graph(meta_graph)


def _has_no_metadata(summary: bytes) -> bool:
    """Return whether a summary is one, and none of its values has metadata."""
    try:
        return not any(number == _METADATA for _, value in fields(summary) for number, _ in fields(as_bytes(value)))
    except WireError:
        return False  # the message says what is wrong


def _folder(logdir: Any) -> str:
    return path_text(logdir, "logdir") if logdir else os.curdir


def _without_repeated(summary: Any, seen: set[str]) -> Summary:
    """Return a summary whose values have their metadata only where a tag comes for the first time."""
    again = [value.tag for value in summary.value if value.HasField("metadata")]
    if not again:
        return summary  # type: ignore[no-any-return]
    copied = Summary()
    copied.CopyFrom(summary)
    for value in copied.value:
        if not value.HasField("metadata"):
            continue
        if value.tag in seen:
            value.ClearField("metadata")
        seen.add(value.tag)
    return copied


class FileWriterCache:
    """One writer for each folder, shared by all that write there."""

    _lock = threading.RLock()
    _writers: ClassVar[dict[str, FileWriter]] = {}

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return the writer of a folder; a new one begins with the default graph.

        Args:
            logdir: the folder.
        """
        folder = _folder(logdir)
        with FileWriterCache._lock:
            writer = FileWriterCache._writers.get(folder)
            if writer is None:
                writer = FileWriter(folder)
                writer._waiting_graph = get_default_graph()
                FileWriterCache._writers[folder] = writer
            return writer

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        with FileWriterCache._lock:
            writers = [*FileWriterCache._writers.values()]
            FileWriterCache._writers.clear()
            for writer in writers:
                try:
                    writer.close()
                except NotFoundError as exc:  # as TensorFlow, which holds the file open
                    _log.warning("the last events of a folder that was removed are lost: %s", exc)


def summary_iterator(path: Any) -> Iterator[Event]:
    """Yield the events of an event file.

    Args:
        path: the file.

    Raises:
        NotFoundError: if it does not exist.
        DataLossError: for a record that is damaged.
    """
    name = path_text(path)
    if not os.path.exists(name):
        raise NotFoundError(f"{name}; No such file or directory")
    for record in RecordReader(name):
        yield Event.FromString(record)
