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
)
from actorsession.opsets.datasets.joining import split
from actorsession.opsets.datasets.stages import Cursor, Element, Stage, kind
from actorsession.opsets.parsing.file_parts import blocks_of, lines_of, records_of

__all__: list[str] = []


@kind("tensors")
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
        found: Element = self.stage.values["components"]
        return found


@kind("slices")
class _Slices(Cursor):
    """The rows of tensors."""

    kept = ("at",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        if "s" in stage.layout:
            stage.values["rows"] = split(stage.values["components"], stage.layout)
            return
        counts = {np.shape(part)[:1] for part in stage.values["components"]}
        if len(counts) > 1 or () in counts:
            raise InvalidArgumentError(
                "components are sliced along their first dimension, which must have one size; they have "
                f"the shapes {[list(np.shape(part)) for part in stage.values['components']]}"
            )

    @classmethod
    def count(cls, stage: Stage) -> int:
        kept = stage.values.get("rows")
        return len(stage.values["components"][0] if kept is None else kept)

    def start(self) -> None:
        self.at = 0
        self._rows = self.stage.values.get("rows")
        self._size = self.count(self.stage)

    def __next__(self) -> Element:
        at = self.at
        if at >= self._size:
            raise StopIteration
        self.at = at + 1
        if self._rows is not None:
            found: Element = self._rows[at]
            return found
        return tuple([part[at] for part in self.stage.values["components"]])


@kind("matched_files")
class _Matched(_Slices):
    """Paths that match patterns, of which there is at least one."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        super().check(stage)
        if not cls.count(stage):
            texts = [os.fsdecode(text) for text in np.asarray(stage.values["pattern"], object).flat]
            raise InvalidArgumentError(f"No files matched pattern: {', '.join(texts)}")


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
        found: Element = elements[self.at - 1]
        return found


@kind("range")
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
        self._type = type(self.stage.values["start"])

    def __next__(self) -> Element:
        at = self.at
        if at >= self._stop if self._step > 0 else at <= self._stop:
            raise StopIteration
        self.at = at + self._step
        return (self._type(at),)


@kind("random")
class _Random(Cursor):
    """Random numbers, without end."""

    kept = ("numbers",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return -1

    def start(self) -> None:
        self.numbers = generator(self.stage)

    def __next__(self) -> Element:
        return (np.int64(self.numbers.integers(0, 2**32)),)


def generator(stage: Stage, *more: int) -> np.random.Generator:
    """Return the random numbers of a stage: those of its seeds, or new ones if both are zero."""
    seeds = [stage.number("seed") % 2**64, stage.number("seed2") % 2**64]
    return np.random.Generator(np.random.PCG64([*seeds, *more] if any(seeds) else None))


@kind("generator")
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
            f"{self.stage.functions[0].compiled.label}: the position of a Python generator cannot be saved"
        )


class _Files(Cursor):
    """The parts of files, one file after the other."""

    kept = ("file", "part")
    prompt: ClassVar[bool] = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        if np.ndim(stage.values["filenames"]) > 1:
            raise InvalidArgumentError("`filenames` must be a scalar or a vector.")
        if stage.text("compression") not in ("", "ZLIB", "GZIP"):
            raise InvalidArgumentError(
                f"Unsupported compression_type: {stage.text('compression')}."
            )

    def start(self) -> None:
        self._names = [
            os.fsdecode(name)
            for name in np.atleast_1d(np.asarray(self.stage.values["filenames"], object))
        ]
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
                found = next(self._parts, None)
            except OpError:
                self._next_file()
                raise
            if found is not None:
                self.part += 1
                return (found,)
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


@kind("lines")
class _Lines(_Files):
    def open(self, name: str) -> Iterator[bytes]:
        return lines_of(name, self.stage.text("compression"), self.run.host.files.opener)


@kind("records")
class _Records(_Files):
    def open(self, name: str) -> Iterator[bytes]:
        return records_of(name, self.stage.text("compression"), self.run.host.files.opener)


@kind("blocks")
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
            name, stage.text("compression"), self.run.host.files.opener,
            header=stage.number("header_bytes"), record=stage.number("record_bytes"),
            footer=stage.number("footer_bytes"), strict=True,
        )  # fmt: skip
