"""Readers: operations that read records of files, whose names they take out of a queue.

Owns the classes and the op types; ``reader_state`` has what they keep. Keys, counts and messages are
TensorFlow's.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import int64, string
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import checked, no_outputs, op, scalar
from actorsession.ops.shape_operands import boxed
from actorsession.ops.shared_state import make_handle, register_state
from actorsession.opsets.parsing.reader_state import ReaderState
from actorsession.process_bound import GraphBound

__all__ = [
    "FixedLengthRecordReader",
    "IdentityReader",
    "ReaderBase",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
]


# -- classes ---------------------------------------------------------------------------------------


class ReaderBase(GraphBound):
    """The base class of readers.

    Args:
        reader_ref: the reader's handle.
        supports_serialize: whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The reader's handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the state can be saved and restored."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Read the next record, of the next file of a queue if necessary.

        Args:
            queue: a queue of the names of files, or its handle.
            name: wanted name.

        Returns:
            The record's key and value, string scalars. OutOfRangeError at run time once the queue is closed
            and empty.
        """
        key, value = raw.ReaderReadV2(self._reader_ref, _handle(queue), name=name)
        return key, value

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Read several records of one file, of the next one of a queue if necessary.

        Args:
            queue: as for ``read``.
            num_records: the most records.
            name: wanted name.

        Returns:
            Their keys and values, vectors of strings.
        """
        count = convert_to_tensor(num_records, int64)
        keys, values = raw.ReaderReadUpToV2(self._reader_ref, _handle(queue), count, name=name)
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records that were read, an int64 scalar."""
        return raw.ReaderNumRecordsProducedV2(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files that were read to the end, an int64 scalar."""
        return raw.ReaderNumWorkUnitsCompletedV2(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the state as a string scalar; UnimplementedError at run time where it cannot be saved."""
        return raw.ReaderSerializeStateV2(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the state to a saved one."""
        return raw.ReaderRestoreStateV2(self._reader_ref, convert_to_tensor(state, string), name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Return an operation that leaves the reader as if it were new."""
        return raw.ReaderResetV2(self._reader_ref, name=name)


def _handle(queue: Any) -> Tensor:
    handle = getattr(queue, "queue_ref", queue)
    if not isinstance(handle, Tensor):
        raise TypeError(f"a reader takes names out of a queue, got {type(queue).__name__}")
    return handle


def _new_reader(op_type: str, name: str | None, attrs: Mapping[str, Any]) -> Tensor:
    return make_handle(op_type, name or op_type, None, attrs)


class TextLineReader(ReaderBase):
    """A reader of the lines of text files, without their ends.

    The key of a line is the file's name and the number of the line.

    Args:
        skip_header_lines: the number of lines at the beginning of each file that are left out.
        name: wanted name.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        attrs = {"skip_header_lines": skip_header_lines or 0}
        super().__init__(_new_reader("TextLineReaderV2", name, attrs))


class FixedLengthRecordReader(ReaderBase):
    """A reader of blocks of fixed length; the key of a block is the file's name and the block's number.

    Args:
        record_bytes: bytes of a block.
        header_bytes: bytes before the first block.
        footer_bytes: bytes behind the last block.
        hop_bytes: bytes from the start of a block to that of the next; those of a block if left out.
        name: wanted name.
        encoding: how the files are compressed: empty, ``"ZLIB"`` or ``"GZIP"``.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        sizes = {
            "record_bytes": record_bytes,
            "header_bytes": header_bytes or 0,
            "footer_bytes": footer_bytes or 0,
            "hop_bytes": hop_bytes or 0,
        }
        for key, size in sizes.items():
            least = int(key == "record_bytes")
            if size < least:
                raise ValueError(f"{key} must be at least {least}, got {size}")
        attrs = {**sizes, "encoding": encoding or ""}
        super().__init__(_new_reader("FixedLengthRecordReaderV2", name, attrs))


class TFRecordReader(ReaderBase):
    """A reader of record files; the key of a record is the file's name and the record's offset.

    Args:
        name: wanted name.
        options: how the files are compressed: ``TFRecordOptions``.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = "" if options is None else options.get_compression_type_string(options)
        super().__init__(_new_reader("TFRecordReaderV2", name, {"compression_type": kind}))


class WholeFileReader(ReaderBase):
    """A reader of whole files; the key of a file is its name.

    Args:
        name: wanted name.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_new_reader("WholeFileReaderV2", name, {}), supports_serialize=True)


class IdentityReader(ReaderBase):
    """A reader that opens nothing: key and value are what was in the queue.

    Args:
        name: wanted name.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_new_reader("IdentityReaderV2", name, {}), supports_serialize=True)


# -- op types --------------------------------------------------------------------------------------


def _register(kind: str) -> None:
    name = f"{kind}ReaderV2"
    register_state(name, "reader", f"{kind}Reader", lambda label, attrs: ReaderState(label, attrs, name))


for _kind in ("FixedLengthRecord", "Identity", "TFRecord", "TextLine", "WholeFile"):
    _register(_kind)


def _one(ctx: InferContext) -> list[TensorShape]:
    return [scalar_shape, scalar_shape]


def _several(ctx: InferContext) -> list[TensorShape]:
    return [TensorShape([None]), TensorShape([None])]


def _read_kernel(ctx: KernelContext) -> Kernel:
    host = ctx.resources

    def read(reader: ReaderState, queue: Any) -> Completion:
        return reader.read(queue, host.files.opener)

    return read


def _read_up_to_kernel(ctx: KernelContext) -> Kernel:
    host = ctx.resources

    def read_up_to(reader: ReaderState, queue: Any, count: Any) -> Completion:
        return reader.read_up_to(queue, int(count), host.files.opener)

    return read_up_to


op("ReaderReadV2", checked(_one), kernel=_read_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, opens_files=True)
op(
    "ReaderReadUpToV2",
    checked(_several, None, None, 0),
    kernel=_read_up_to_kernel,
    grad=NOT_DIFFERENTIABLE,
    suspends=True,
    opens_files=True,
)
for _name, _count in (
    ("ReaderNumRecordsProducedV2", operator.attrgetter("produced")),
    ("ReaderNumWorkUnitsCompletedV2", operator.attrgetter("completed")),
):
    op(_name, checked(scalar), lambda reader, count=_count: np.int64(count(reader)), NOT_DIFFERENTIABLE)
# These wait until the record that is being read is complete.
op("ReaderResetV2", checked(no_outputs), lambda reader: reader.reset(), NOT_DIFFERENTIABLE, blocks=True)
op("ReaderSerializeStateV2", checked(scalar), lambda reader: reader.save(), NOT_DIFFERENTIABLE, blocks=True)
op(
    "ReaderRestoreStateV2",
    checked(no_outputs, None, 0),
    lambda reader, state: reader.load(boxed(state).item()),
    NOT_DIFFERENTIABLE,
    blocks=True,
)
