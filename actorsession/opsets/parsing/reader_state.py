"""The state of readers: which file of a queue is being read, and how far.

A reader takes the name of a file out of a queue when it needs one. Attempts to read are futures, served in
order by a thread of the reader. A step that is cancelled meanwhile leaves the name in the queue.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import field
from typing import Any

from actorsession.errors import CancelledError, InvalidArgumentError, UnimplementedError
from actorsession.graph.take import Take
from actorsession.opsets.crew import Crew
from actorsession.opsets.parsing.file_parts import blocks_of, lines_of, whole_file
from actorsession.opsets.parsing.records import RecordReader
from actorsession.opsets.text.kernels import string_array
from actorsession.protobuf import wire
from actorsession.records import dataclass

__all__ = ["ReaderState"]

Record = tuple[bytes, bytes]
Opener = Callable[[str, int], int]

# Seconds between two looks at whether an attempt was cancelled.
_SLICE = 0.1


@dataclass(slots=True, eq=False)
class _Attempt:
    """A pending attempt to read some records."""

    queue: Any
    opener: Opener
    most: int
    several: bool
    future: Future[Any] = field(default_factory=Future)


class ReaderState:
    """A reader.

    Args:
        label: its name in messages.
        attrs: the attributes of its node.
        kind: its operation type.
    """

    def __init__(self, label: str, attrs: Mapping[str, Any], kind: str) -> None:
        self.label = label
        self._attrs = attrs
        self._kind = kind
        self._crew = Crew()
        self._lock = threading.Lock()
        self._attempts: deque[_Attempt] = deque()
        self._serves = False
        # Held while records are read.
        self._reading = threading.Lock()
        self._records: Iterator[Record] | None = None
        self._work = b""
        self._started = self._finished = self._produced = 0

    # -- reading -------------------------------------------------------------------------------

    def read(self, queue: Any, opener: Opener) -> Future[Any]:
        """Return the future of the key and value of the next record."""
        return self._attempt(_Attempt(queue, opener, 1, several=False))

    def read_up_to(self, queue: Any, count: int, opener: Opener) -> Future[Any]:
        """Return the future of the keys and values of up to ``count`` records of one file."""
        if count < 1:
            raise InvalidArgumentError(f"num_records must be positive, got {count}")
        return self._attempt(_Attempt(queue, opener, count, several=True))

    def _attempt(self, attempt: _Attempt) -> Future[Any]:
        with self._lock:
            self._attempts.append(attempt)
            begins, self._serves = not self._serves, True
        if begins:
            self._crew.submit(self._serve)
        return attempt.future

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._attempts:
                    self._serves = False
                    return
                attempt = self._attempts.popleft()
            if attempt.future.cancelled():
                continue
            records: Any = None
            error: Exception | None = None
            try:
                with self._reading:
                    records = self._read(attempt)
            except Exception as exc:
                error = exc
            if attempt.future.set_running_or_notify_cancel():
                if error is not None:
                    attempt.future.set_exception(error)
                else:
                    attempt.future.set_result(records)

    def _read(self, attempt: _Attempt) -> Any:
        records: list[Record] = []
        while not records:
            if self._records is None:
                self._begin(attempt)
            assert self._records is not None
            try:
                records = list(itertools.islice(self._records, attempt.most))
            except Exception:
                self._end()
                raise
            self._produced += len(records)
            if len(records) < attempt.most or self._kind in _WHOLE:
                self._end()
        if not attempt.several:
            return records[0]
        return tuple([string_array(list(column), (len(records),)) for column in zip(*records, strict=True)])

    def _begin(self, attempt: _Attempt) -> None:
        """Take the next name out of the queue and open its file."""
        take = attempt.queue.dequeue(1, lambda taken: taken[0][0])
        self._work = _result(take, attempt.future)
        self._records = _OPEN[self._kind](self._work, self._attrs, attempt.opener)
        self._started += 1

    def _end(self) -> None:
        self._records = None
        self._finished = self._started

    # -- other operations ----------------------------------------------------------------------

    @property
    def produced(self) -> int:
        """The number of records that were read."""
        with self._lock:
            return self._produced

    @property
    def completed(self) -> int:
        """The number of files that were read to the end."""
        with self._lock:
            return self._finished

    def reset(self) -> None:
        """Leave the reader as if it were new."""
        with self._reading:
            self._records, self._work = None, b""
            self._started = self._finished = self._produced = 0

    clear = reset

    def save(self) -> bytes:
        """Return the state as TensorFlow's message ``ReaderBaseState``.

        Raises:
            UnimplementedError: for readers of parts of files.
        """
        if self._kind not in _WHOLE:
            raise UnimplementedError(f"{self.label}: Reader SerializeState")
        with self._reading:
            numbers = (self._started, self._finished, self._produced)
            encoded = [wire.integer_field(k, n) for k, n in enumerate(numbers, 1) if n]
            return b"".join([*encoded, wire.length_field(4, self._work)] if self._work else encoded)

    def load(self, state: bytes) -> None:
        """Set the state to a saved one.

        Raises:
            InvalidArgumentError: if it is none.
            UnimplementedError: for readers of parts of files.
        """
        if self._kind not in _WHOLE:
            raise UnimplementedError(f"{self.label}: Reader RestoreState")
        try:
            decoded = dict(wire.fields(state))
            numbers = [wire.as_integer(decoded.get(k, 0)) for k in (1, 2, 3)]
            work = wire.as_bytes(decoded.get(4, b""))
        except wire.WireError as exc:
            raise InvalidArgumentError(f"Could not parse state for {self.label}: {exc}") from exc
        started, finished, produced = numbers
        if min(numbers) < 0 or started < finished:
            raise InvalidArgumentError(f"Inconsistent state for {self.label}: {numbers}")
        with self._reading:
            self._started, self._finished, self._produced = started, finished, produced
            self._work = work
            self._records = None

    def session_ended(self) -> None:
        """Let the threads go; see ``KernelContext.state``."""
        self._crew.close()

    def __del__(self) -> None:
        if hasattr(self, "_crew"):
            self._crew.close()


def _result(take: Take, request: Future[Any]) -> bytes:
    """Return the name that is taken out of a queue, unless the request for it is cancelled meanwhile."""
    while not take.done():
        with contextlib.suppress(TimeoutError):
            take.exception(_SLICE)
        if request.cancelled():
            take.abandon()
            raise CancelledError("the step is over")
    name = take.result()
    if not isinstance(name, bytes):
        raise InvalidArgumentError(f"a reader takes the names of files out of a queue, got {name!r:.100}")
    return name


# -- kinds -----------------------------------------------------------------------------------------


def _lines(work: bytes, attrs: Mapping[str, Any], opener: Opener) -> Iterator[Record]:
    lines = lines_of(os.fsdecode(work), "", opener)
    numbered = ((b"%s:%d" % (work, number), line) for number, line in enumerate(lines, 1))
    return itertools.islice(numbered, int(attrs["skip_header_lines"]), None)


def _blocks(work: bytes, attrs: Mapping[str, Any], opener: Opener) -> Iterator[Record]:
    blocks = blocks_of(
        os.fsdecode(work),
        attrs["encoding"],
        opener,
        header=int(attrs["header_bytes"]),
        record=int(attrs["record_bytes"]),
        footer=int(attrs["footer_bytes"]),
        hop=int(attrs["hop_bytes"]),
        strict=False,
    )
    return ((b"%s:%d" % (work, number), block) for number, block in enumerate(blocks))


def _records(work: bytes, attrs: Mapping[str, Any], opener: Opener) -> Iterator[Record]:
    reader = RecordReader(os.fsdecode(work), attrs["compression_type"], opener)

    def records() -> Iterator[Record]:
        while True:
            offset = reader.offset
            record = reader.read()
            if record is None:
                return
            yield b"%s:%d" % (work, offset), record

    return records()


def _whole(work: bytes, attrs: Mapping[str, Any], opener: Opener) -> Iterator[Record]:
    return iter([(work, whole_file(os.fsdecode(work), opener))])


def _same(work: bytes, attrs: Mapping[str, Any], opener: Opener) -> Iterator[Record]:
    return iter([(work, work)])


_OPEN: Mapping[str, Callable[[bytes, Mapping[str, Any], Opener], Iterator[Record]]] = {
    "TextLineReaderV2": _lines,
    "FixedLengthRecordReaderV2": _blocks,
    "TFRecordReaderV2": _records,
    "WholeFileReaderV2": _whole,
    "IdentityReaderV2": _same,
}
# Those whose state is the counts.
_WHOLE = frozenset({"WholeFileReaderV2", "IdentityReaderV2"})
