"""Kinds of datasets that make elements: of tensors, ranges, files and Python generators."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    UnimplementedError,
)
from actorsession.graph.dtypes import as_dtype
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.datasets.draws import Draws
from actorsession.opsets.datasets.stages import Cursor, Element, Stage, kind
from actorsession.opsets.parsing.csv import column_of, row_of
from actorsession.opsets.parsing.file_parts import blocks_of, lines_of
from actorsession.opsets.parsing.records import RecordReader
from actorsession.opsets.sparse.serialising import sparse_rows
from transports.host import current_host

__all__: list[str] = []


@kind("TensorDataset")
class _Whole(Cursor):
    """One element."""

    kept = ("at",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return 1

    def start(self) -> None:
        self.at = 0

    def __next__(self) -> Element:
        if self.at:
            raise StopIteration
        self.at = 1
        element: Element = self.stage.values["components"]
        return element


@kind("TensorSliceDataset")
class _Slices(Cursor):
    """The rows of tensors."""

    kept = ("at",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        counts = {np.shape(part)[:1] for part in stage.values["components"]}
        if () in counts:
            raise InvalidArgumentError("All components must be at least 1-dimensional")
        if len(counts) > 1:
            raise InvalidArgumentError("All components must have the same size in the 0th dimension")

    @classmethod
    def count(cls, stage: Stage) -> int:
        return len(stage.values["components"][0])

    def start(self) -> None:
        self.at = 0
        self._size = self.count(self.stage)

    def __next__(self) -> Element:
        at = self.at
        if at >= self._size:
            raise StopIteration
        self.at = at + 1
        return tuple([part[at] for part in self.stage.values["components"]])


@kind("SparseTensorSliceDataset")
class _SparseRows(Cursor):
    """The rows of a sparse tensor: the indices, values and shape of each."""

    kept = ("at",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        values = stage.values
        indices, elements, shape = values["indices"], values["values"], values["dense_shape"]
        if len(shape) < 1:
            raise InvalidArgumentError("a sparse tensor is sliced along its first dimension")
        if (np.diff(indices[:, 0]) < 0).any():
            raise UnimplementedError(
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered "
                "input is not currently supported."
            )
        stage.values["rows"] = sparse_rows(indices, elements, shape)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return len(stage.values["rows"])

    def start(self) -> None:
        self.at = 0

    def __next__(self) -> Element:
        rows: list[Element] = self.stage.values["rows"]
        if self.at >= len(rows):
            raise StopIteration
        self.at += 1
        return rows[self.at - 1]


@kind("elements")
class _Elements(Cursor):
    """Elements that are at hand, in a list."""

    kept = ("at",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return len(stage.values["elements"])

    def start(self) -> None:
        self.at = 0

    def __next__(self) -> Element:
        elements = self.stage.values["elements"]
        if self.at >= len(elements):
            raise StopIteration
        self.at += 1
        element: Element = elements[self.at - 1]
        return element


@kind("RangeDataset")
class _Range(Cursor):
    """Numbers at equal distances."""

    kept = ("at",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        if stage.number("step") == 0:
            raise InvalidArgumentError("step must be a non-zero integer.")

    @classmethod
    def count(cls, stage: Stage) -> int:
        return len(range(stage.number("start"), stage.number("stop"), stage.number("step")))

    def start(self) -> None:
        number = self.stage.number
        self.at, self._stop, self._step = number("start"), number("stop"), number("step")
        (self._type,) = [dtype.np_dtype.type for dtype in self.stage.values["output_types"]]

    def __next__(self) -> Element:
        at = self.at
        if at >= self._stop if self._step > 0 else at <= self._stop:
            raise StopIteration
        self.at = at + self._step
        return (self._type(at),)


def choose_seeds(stage: Stage) -> None:
    """Choose the seeds of a stage at random if it has none."""
    values = stage.values
    if not any([values.setdefault("seed", 0), values.setdefault("seed2", 0)]):
        values["seed"], values["seed2"] = np.random.default_rng(current_host().entropy.randbits(128)).integers(
            1, 2**62, 2
        )


@kind("RandomDataset", "RandomDatasetV2", "ExperimentalRandomDataset")
class _Random(Cursor):
    """Random numbers, without end."""

    kept = ("numbers",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        choose_seeds(stage)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return -1

    def start(self) -> None:
        seeds = self.stage.number("seed"), self.stage.number("seed2")
        if self.stage.values.get("rerandomize_each_iteration"):
            epoch = self.run.epochs.get(self.stage, 0)
            self.run.epochs[self.stage] = epoch + 1
            chosen = Draws(*seeds, 2 * epoch)
            seeds = chosen.next(), chosen.next()
        self.numbers = Draws(*seeds)

    def __next__(self) -> Element:
        return (np.int64(self.numbers.next()),)


@kind("GeneratorDataset")
class _Generator(Cursor):
    """What a Python generator gives; the functions begin it, go on with it, and end it."""

    prompt = False

    def start(self) -> None:
        self._state: Element | None = None
        self._ended = False

    def __next__(self) -> Element:
        begin, advance, _ = self.stage.functions
        if self._ended:
            raise StopIteration
        if self._state is None:
            self._state = begin(self.run)
        try:
            return advance(self.run, *self._state)
        except OutOfRangeError:
            self._end()
            raise StopIteration from None

    def _end(self) -> None:
        self._ended = True
        state, self._state = self._state, None
        if state is not None:
            self.stage.functions[2](self.run, *state)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._end()

    def save(self) -> dict[str, Any]:
        raise FailedPreconditionError(
            f"{self.stage.functions[0].label}: the position of a Python generator cannot be saved"
        )


class _Files(Cursor):
    """The parts of files, one file after the other."""

    kept = ("file", "part")
    prompt: ClassVar[bool] = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        if np.ndim(stage.values["filenames"]) > 1:
            raise InvalidArgumentError("`filenames` must be a scalar or a vector.")
        stage.values.setdefault("compression_type", b"")
        if stage.text("compression_type") not in ("", "ZLIB", "GZIP"):
            raise InvalidArgumentError(f"Unsupported compression_type: {stage.text('compression_type')}.")

    def start(self) -> None:
        self._names = [os.fsdecode(name) for name in np.atleast_1d(np.asarray(self.stage.values["filenames"], object))]
        # The current file, and how many parts of it were given.
        self.file, self.part = 0, 0
        self._parts: Iterator[bytes] | None = None

    def open(self, name: str) -> Iterator[bytes]:
        """Return the parts of a file."""
        raise NotImplementedError

    def __next__(self) -> Element:
        while self.file < len(self._names):
            if self._parts is None:
                self._parts = self.open(self._names[self.file])
            try:
                part = next(self._parts, None)
            except OpError:
                self._next_file()
                raise
            if part is not None:
                self.part += 1
                return (part,)
            self._next_file()
        raise StopIteration

    def _next_file(self) -> None:
        self.file, self.part, self._parts = self.file + 1, 0, None

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        if self.part:
            self._parts = self.open(self._names[self.file])
            for _ in range(self.part):
                next(self._parts, None)


@kind("TextLineDataset")
class _Lines(_Files):
    def open(self, name: str) -> Iterator[bytes]:
        return lines_of(name, self.stage.text("compression_type"), self.run.host.files.opener)


@kind("TFRecordDataset", "TFRecordDatasetV2")
class _Records(_Files):
    def open(self, name: str) -> Iterator[bytes]:
        return RecordReader(name, self.stage.text("compression_type"), self.run.host.files.opener)


@kind("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2")
class _Blocks(_Files):
    @classmethod
    def check(cls, stage: Stage) -> None:
        super().check(stage)
        for name, least in (("record_bytes", 1), ("header_bytes", 0), ("footer_bytes", 0)):
            if stage.number(name) < least:
                raise InvalidArgumentError(f"`{name}` must be >= {least}, got {stage.number(name)}")

    def open(self, name: str) -> Iterator[bytes]:
        stage = self.stage
        return blocks_of(
            name,
            stage.text("compression_type"),
            self.run.host.files.opener,
            header=stage.number("header_bytes"),
            record=stage.number("record_bytes"),
            footer=stage.number("footer_bytes"),
            strict=True,
        )


@kind("CSVDataset", "CSVDatasetV2")
class _Csv(_Files):
    """The rows of files of comma-separated values; a quoted value may have several lines."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        super().check(stage)
        if len(stage.text("field_delim")) != 1:
            raise InvalidArgumentError("field_delim should be only 1 char")
        chosen, left_out = stage.values["select_cols"], stage.values.get("exclude_cols", ())
        if len(chosen) and len(left_out):
            raise InvalidArgumentError("Either select_cols or exclude_cols should be empty")

    def start(self) -> None:
        super().start()
        values = self.stage.values
        self._quotes = bool(values["use_quote_delim"])
        self._defaults = [boxed(value) for value in values["record_defaults"]]
        self._types = [as_dtype(dtype) for dtype in values["output_types"]]
        self._marks = [self.stage.text(key).encode() for key in ("field_delim", "na_value")]
        self._chosen = [int(column) for column in values["select_cols"]]
        left_out = {int(column) for column in values.get("exclude_cols", ())}
        if left_out:
            total = len(self._types) + len(left_out)
            self._chosen = [column for column in range(total) if column not in left_out]

    def open(self, name: str) -> Iterator[bytes]:
        lines = lines_of(name, self.stage.text("compression_type"), self.run.host.files.opener)
        if self.stage.values["header"]:
            next(lines, None)
        return self._records(lines)

    def _records(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            while self._quotes and line.count(b'"') % 2:
                more = next(lines, None)
                if more is None:
                    break
                line += b"\n" + more
            yield line

    def __next__(self) -> Element:
        (record,) = super().__next__()
        separator, empty = self._marks
        try:
            row = row_of(0, record, separator, self._quotes, self._chosen, len(self._types))
            return tuple(
                [column_of(k, [text], self._types[k], self._defaults[k], empty, ()) for k, text in enumerate(row)]
            )
        except InvalidArgumentError as exc:
            # Here records have no numbers.
            said = exc.message.removeprefix("DecodeCSV: ").replace("record 0", "record")
            raise InvalidArgumentError(said.partition(f": {record!r:.100}")[0]) from None
