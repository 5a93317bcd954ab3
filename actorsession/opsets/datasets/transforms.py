"""Kinds of datasets that change the elements of others, or their order."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from actorsession.checkpoints.atomic import write_whole
from actorsession.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
)
from actorsession.graph import codec
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.registry import Array
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.datasets.draws import Draws
from actorsession.opsets.datasets.joining import join, padded, split
from actorsession.opsets.datasets.sources import choose_seeds
from actorsession.opsets.datasets.stages import Cursor, Element, Stage, kind, plain, restored
from actorsession.opsets.parsing.example_nodes import ParsePlan
from actorsession.opsets.parsing.file_parts import whole_file
from actorsession.opsets.ragged.variants import RaggedValue
from actorsession.opsets.sparse.serialising import sparse_value

__all__: list[str] = []


def _at_least(stage: Stage, name: str, least: int, what: str = "", more: str = ".") -> None:
    if stage.number(name) < least:
        raise InvalidArgumentError(
            f"{what or name} must be greater than {'zero' if least == 1 else 'or equal to ' + str(least)}{more}"
        )


def _of_source(stage: Stage) -> int:
    return stage.sources[0].cardinality()


class _SameCount(Cursor):
    """A dataset with as many elements as its source."""

    @classmethod
    def count(cls, stage: Stage) -> int:
        return _of_source(stage)


# -- one element after the other -------------------------------------------------------------------


@kind("MapDataset")
class _Map(Cursor):
    """What a function makes of each element; one that says so ends it."""

    kept = ("ended",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return _of_source(stage) if stage.values.get("preserve_cardinality") else -2

    def start(self) -> None:
        self.ended = False

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        element = next(self.source)
        try:
            return self.stage.functions[0](self.run, *element)
        except OutOfRangeError:
            self.ended = True
            raise StopIteration from None


@kind("FilterDataset")
class _Filter(Cursor):
    """The elements for which a function holds."""

    prompt = False

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            if _holds(self, element):
                return element
            self.run.check()


@kind("TakeWhileDataset", "ExperimentalTakeWhileDataset")
class _TakeWhile(Cursor):
    """The elements before the first one for which a function does not hold."""

    kept = ("ended",)

    def start(self) -> None:
        self.ended = False

    def __next__(self) -> Element:
        if not self.ended:
            element = next(self.source)
            if _holds(self, element):
                return element
            self.ended = True
        raise StopIteration


def _holds(cursor: Cursor, element: Element) -> bool:
    (holds,) = cursor.stage.functions[0](cursor.run, *element)
    if np.ndim(holds):
        raise InvalidArgumentError("a predicate must be a scalar: `predicate` must return a scalar bool")
    return bool(holds)


@kind("ScanDataset", "ExperimentalScanDataset")
class _Scan(_SameCount):
    """What a function makes of each element and of a state that it passes on."""

    kept = ("state",)

    def start(self) -> None:
        self.state: Element = self.stage.values["initial_state"]

    def __next__(self) -> Element:
        results = self.stage.functions[0](self.run, *self.state, *next(self.source))
        count = len(self.state)
        self.state = results[:count]
        return results[count:]


@kind("TakeDataset")
class _Take(Cursor):
    """The first elements."""

    kept = ("given",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        limit, known = stage.number("count"), _of_source(stage)
        if limit < 0 or known == -2:
            return known
        return limit if known == -1 else min(limit, known)

    def start(self) -> None:
        self.given, self._limit = 0, self.stage.number("count")

    def __next__(self) -> Element:
        if 0 <= self._limit <= self.given:
            raise StopIteration
        element = next(self.source)
        self.given += 1
        return element


@kind("SkipDataset")
class _Skip(Cursor):
    """All but the first elements."""

    kept = ("left",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        left, known = stage.number("count"), _of_source(stage)
        return 0 if left < 0 else known if known < 0 else max(0, known - left)

    def start(self) -> None:
        self.left = self.stage.number("count")

    def __next__(self) -> Element:
        while self.left:
            if self.left < 0:
                raise StopIteration
            next(self.source)
            self.left -= 1
        return next(self.source)


@kind("ShardDataset")
class _Shard(Cursor):
    """Every n-th element."""

    kept = ("at",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        count, index = stage.number("num_shards"), stage.number("index")
        if count < 1:
            raise InvalidArgumentError(f"Number of shards must be greater than zero (currently num_shards = {count}).")
        if not 0 <= index < count:
            raise InvalidArgumentError(f"Index must be between 0 and {count - 1} (currently index = {index}).")

    @classmethod
    def count(cls, stage: Stage) -> int:
        known, count = _of_source(stage), stage.number("num_shards")
        return known if known < 0 else max(0, -(-(known - stage.number("index")) // count))

    def start(self) -> None:
        self.at = 0
        self._count, self._index = self.stage.number("num_shards"), self.stage.number("index")

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            self.at += 1
            if (self.at - 1) % self._count == self._index:
                return element


@kind("UniqueDataset", "ExperimentalUniqueDataset")
class _Unique(Cursor):
    """The elements that have not come before."""

    kept = ("seen",)
    prompt = False

    @classmethod
    def check(cls, stage: Stage) -> None:
        if len(stage.values["output_types"]) != 1:
            raise InvalidArgumentError("UniqueDataset only supports inputs with a single component.")

    def start(self) -> None:
        self.seen: dict[bytes, bool] = {}

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            key = codec.pack(plain(element))
            if key not in self.seen:
                self.seen[key] = True
                return element
            self.run.check()


@kind("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset")
class _IgnoreErrors(Cursor):
    """The elements that could be made."""

    prompt = False

    def __next__(self) -> Element:
        while True:
            self.run.check()
            try:
                return next(self.source)
            except OpError:
                continue


@kind("ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset")
class _Parsed(_SameCount):
    """The features of batches of serialized examples, by their keys."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        cls._plan_of(stage)

    @staticmethod
    def _plan_of(stage: Stage) -> ParsePlan:
        values = stage.values
        keys = [
            [key.encode() if isinstance(key, str) else key for key in values.get(name, ())]
            for name in ("sparse_keys", "dense_keys", "ragged_keys")
        ]
        return ParsePlan(stage.kind, values, [as_dtype(dtype) for dtype in values["Tdense"]], *keys)

    def start(self) -> None:
        self._plan = self._plan_of(self.stage)
        self._defaults = [boxed(value) for value in self.stage.values["dense_defaults"]]

    def __next__(self) -> Element:
        (serialized,) = next(self.source)
        plan = self._plan
        outputs = plan.parse(boxed(serialized).tolist(), [], self._defaults)
        count, last = len(plan.sparse), len(outputs) - len(plan.ragged)
        sparse = [sparse_value(*outputs[k : 3 * count : count]) for k in range(count)]
        ragged = [RaggedValue([outputs[k]], outputs[k - len(plan.ragged)]) for k in range(last, len(outputs))]
        dense = outputs[3 * count : last - len(plan.ragged)]
        features = dict(zip(plan.keys, [*sparse, *dense, *ragged], strict=True))
        return tuple([features[key] for key in sorted(features)])


# -- several at a time -----------------------------------------------------------------------------


@kind("BatchDataset", "BatchDatasetV2", "ParallelBatchDataset", "PaddedBatchDataset", "PaddedBatchDatasetV2")
class _Batch(Cursor):
    """Elements joined to one, filled up to a common shape or as they are."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        if stage.number("batch_size") < 1:
            raise InvalidArgumentError("Batch size must be greater than zero.")

    @classmethod
    def count(cls, stage: Stage) -> int:
        known, size = _of_source(stage), stage.number("batch_size")
        drops = bool(stage.values.get("drop_remainder"))
        return known if known < 0 else known // size if drops else -(-known // size)

    def start(self) -> None:
        values = self.stage.values
        self._size = self.stage.number("batch_size")
        self._drops = bool(values.get("drop_remainder"))
        self._shapes, self._fillers = values.get("padded_shapes"), values.get("padding_values")

    def __next__(self) -> Element:
        taken: list[Element] = []
        try:
            while len(taken) < self._size:
                taken.append(next(self.source))
        except StopIteration:
            if not taken or self._drops:
                raise
        if self._shapes is not None:
            assert self._fillers is not None
            return padded(taken, self._shapes, self._fillers)
        return join(taken)


@kind("UnbatchDataset", "ExperimentalUnbatchDataset")
class _Unbatch(Cursor):
    """The rows of each element."""

    kept = ("rows",)

    def start(self) -> None:
        self.rows: list[Element] = []

    def __next__(self) -> Element:
        while not self.rows:
            self.rows = split(next(self.source))[::-1]
        return self.rows.pop()


@kind("WindowDataset")
class _Window(Cursor):
    """Datasets of some successive elements, one for each component."""

    kept = ("taken",)

    @classmethod
    def check(cls, stage: Stage) -> None:
        for name in ("size", "shift", "stride"):
            _at_least(stage, name, 1, f"Window {name}")

    def start(self) -> None:
        number = self.stage.number
        self._size, self._shift, self._stride = number("size"), number("shift"), number("stride")
        self._span = (self._size - 1) * self._stride + 1
        self._drops = bool(self.stage.values["drop_remainder"])
        self.taken: list[Element] = []

    def __next__(self) -> Element:
        try:
            while len(self.taken) < self._span:
                self.taken.append(next(self.source))
        except StopIteration:
            if not self.taken or self._drops:
                raise
        chosen = self.taken[: self._span : self._stride]
        beyond = self._shift - len(self.taken)
        self.taken = self.taken[self._shift :]
        for _ in range(beyond):
            if next(self.source, None) is None:
                break
        columns = [[(value,) for value in column] for column in zip(*chosen, strict=True)]
        return tuple([Stage("elements", values={"elements": column}) for column in columns])

    @classmethod
    def count(cls, stage: Stage) -> int:
        known, size = _of_source(stage), stage.number("size")
        shift, stride = stage.number("shift"), stage.number("stride")
        if known < 0:
            return known
        if not stage.values["drop_remainder"]:
            return -(-known // shift)
        span = (size - 1) * stride + 1
        return max(0, (known - span) // shift + 1)


@kind("SlidingWindowDataset", "ExperimentalSlidingWindowDataset")
class _Slide(_Window):
    """Successive elements joined to one; whole windows only, unless it is said otherwise."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        for name in ("size", "shift", "stride"):
            _at_least(stage, f"window_{name}", 1)
            stage.values[name] = stage.values[f"window_{name}"]
        stage.values.setdefault("drop_remainder", True)

    def __next__(self) -> Element:
        columns = [window.values["elements"] for window in super().__next__()]
        return join([tuple([value for (value,) in row]) for row in zip(*columns, strict=True)])


# -- several datasets ------------------------------------------------------------------------------


@kind("ZipDataset")
class _Zip(Cursor):
    """The elements of several datasets side by side."""

    @classmethod
    def count(cls, stage: Stage) -> int:
        counts = [source.cardinality() for source in stage.sources]
        if -2 in counts:
            return -2
        return min([count for count in counts if count >= 0], default=-1)

    def __next__(self) -> Element:
        return tuple([value for source in self.sources for value in next(source)])


@kind("ConcatenateDataset")
class _Concatenate(Cursor):
    """The elements of one dataset, then those of another."""

    kept = ("at",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        counts = [source.cardinality() for source in stage.sources]
        return -1 if -1 in counts else -2 if -2 in counts else sum(counts)

    def start(self) -> None:
        self.at = 0

    def __next__(self) -> Element:
        while self.at < len(self.sources):
            try:
                return next(self.sources[self.at])
            except StopIteration:
                self.at += 1
        raise StopIteration


@kind("DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset")
class _Choose(Cursor):
    """The elements of several datasets, as the first one says from which."""

    kept = ("ended",)
    prompt = False

    def start(self) -> None:
        self._data = self.sources[1:]
        self.ended = [False] * len(self._data)
        self._stops = bool(self.stage.values.get("stop_on_empty_dataset"))

    def __next__(self) -> Element:
        while not all(self.ended):
            (index,) = next(self.sources[0])
            if not 0 <= index < len(self._data):
                raise InvalidArgumentError(f"Selector index out of range: {int(index)} >= {len(self._data)}")
            which = int(index)
            if self.ended[which]:
                self.run.check()
                continue
            try:
                return next(self._data[which])
            except StopIteration:
                self.ended[which] = True
                if self._stops:
                    self.ended = [True] * len(self._data)
        raise StopIteration


# -- order and repetition --------------------------------------------------------------------------


@kind("ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3")
class _Shuffle(_SameCount):
    """The elements in random order: each is drawn from a buffer, which is filled up again."""

    kept = ("epoch", "held", "numbers", "ended")

    @classmethod
    def check(cls, stage: Stage) -> None:
        _at_least(stage, "buffer_size", 1, more=" or UNKNOWN_CARDINALITY")
        choose_seeds(stage)

    def start(self) -> None:
        self.epoch = self.run.epochs.get(self.stage, 0)
        self.run.epochs[self.stage] = self.epoch + 1
        seeds = self.stage.number("seed"), self.stage.number("seed2")
        if self.stage.values.get("reshuffle_each_iteration", True):
            chosen = Draws(*seeds, 2 * self.epoch)
            seeds = chosen.next(), chosen.next()
        self.numbers = Draws(*seeds)
        self._size = self.stage.number("buffer_size")
        self.held: deque[Element] = deque()
        self.ended = False

    def __next__(self) -> Element:
        held = self.held
        while not self.ended and len(held) < self._size:
            element = next(self.source, None)
            if element is None:
                self.ended = True
            else:
                held.append(element)
        if not held:
            raise StopIteration
        k = self.numbers.next() % len(held)
        held[0], held[k] = held[k], held[0]
        return held.popleft()

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.run.epochs[self.stage] = self.epoch + 1


@kind("RepeatDataset")
class _Repeat(Cursor):
    """The elements again and again."""

    kept = ("turn", "any")

    @classmethod
    def count(cls, stage: Stage) -> int:
        times, known = stage.number("count"), _of_source(stage)
        if times == 0 or known == 0:
            return 0
        return -1 if times < 0 or known == -1 else -2 if known == -2 else times * known

    def start(self) -> None:
        self.turn, self.any = 0, False
        self._turns = self.stage.number("count")

    def __next__(self) -> Element:
        while self._turns < 0 or self.turn < self._turns:
            element = next(self.source, None)
            if element is not None:
                self.any = True
                return element
            if not self.any:
                break
            self.turn, self.any = self.turn + 1, False
            if self._turns < 0 or self.turn < self._turns:
                self.sources = [self.stage.sources[0].begin(self.run)]
        raise StopIteration


@kind("CacheDataset", "CacheDatasetV2")
class _Cache(_SameCount):
    """The elements of the first time: in memory for the rest of the run, or in a file."""

    kept = ("at", "held")

    def start(self) -> None:
        self.at = 0
        self.held: list[Element] = []
        self._path = self.stage.text("filename")
        self._whole: list[Element] | None = None

    def __next__(self) -> Element:
        if not self.at and not self.held:
            self._whole = self._known()
        if self._whole is not None:
            if self.at >= len(self._whole):
                raise StopIteration
            self.at += 1
            return self._whole[self.at - 1]
        try:
            element = next(self.source)
        except StopIteration:
            self._keep()
            raise
        self.held.append(element)
        return element

    def _known(self) -> list[Element] | None:
        if not self._path:
            return self.run.caches.get(self.stage)
        try:
            data = whole_file(self._path, self.run.host.files.opener)
        except NotFoundError:
            return None
        elements: list[Element] = restored(codec.unpack_file(data))
        return elements

    def _keep(self) -> None:
        if not self._path:
            self.run.caches[self.stage] = self.held
        else:
            data = codec.pack_file(plain(self.held))

            def write(file: BinaryIO) -> None:
                file.write(data)

            write_whole(self._path, write, files=self.run.host.files)
        self._whole, self.at = self.held, len(self.held)

    def save(self) -> dict[str, Any]:
        whole = None if self._path else self._whole
        return {**super().save(), "whole": plain(whole)}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        if state["whole"] is not None:
            self.run.caches[self.stage] = restored(state["whole"])
        if self.at:
            self._whole = self._known()


@kind("AssertCardinalityDataset")
class _AssertCount(Cursor):
    """The same elements, whose number is checked at the end."""

    kept = ("given",)

    @classmethod
    def count(cls, stage: Stage) -> int:
        return stage.number("cardinality")

    def start(self) -> None:
        self.given, self._expected = 0, self.stage.number("cardinality")

    def __next__(self) -> Element:
        element = next(self.source, None)
        if element is not None:
            self.given += 1
            if not 0 <= self._expected < self.given:
                return element
        if element is None and self.given == self._expected:
            raise StopIteration
        more = "at least" if element is not None else "only"
        raise FailedPreconditionError(
            f"Input dataset was expected to contain {self._expected} elements but contained {more} "
            f"{self.given} elements."
        )


@kind("DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset")
class _SparseBatch(Cursor):
    """Elements joined to a sparse tensor."""

    @classmethod
    def check(cls, stage: Stage) -> None:
        _at_least(stage, "batch_size", 1)

    def start(self) -> None:
        self._size = self.stage.number("batch_size")
        self._shape = np.asarray(self.stage.values["row_shape"])

    def __next__(self) -> Element:
        rows: list[Element] = []
        for (row,) in itertools.islice(self.source, self._size):
            self._check(np.array(np.shape(row), np.int64))
            rows.append((row,))
        if not rows:
            raise StopIteration
        sizes = [np.array(np.shape(row), np.int64) for (row,) in rows]
        shape = np.where(self._shape < 0, np.max(sizes, axis=0), self._shape)
        indices = [
            np.concatenate([np.full((row.size, 1), k), np.argwhere(np.ones(row.shape, bool))], axis=1)
            for k, row in enumerate([np.asarray(row) for (row,) in rows])
        ]
        values = np.concatenate([np.asarray(row).reshape(-1) for (row,) in rows])
        return (sparse_value(np.concatenate(indices), values, np.array([len(rows), *shape])),)

    def _check(self, size: Array) -> None:
        said = f"Input element had shape ({size.tolist()}) that is"
        if len(size) != len(self._shape):
            raise InvalidArgumentError(f"{said} incompatible with the row shape ({self._shape.tolist()}).")
        if ((size > self._shape) & (self._shape >= 0)).any():
            raise DataLossError(f"{said} larger than the row shape ({self._shape.tolist()}).")


@kind("GroupByReducerDataset", "ExperimentalGroupByReducerDataset")
class _Reduced(Cursor):
    """What functions make of all elements with one key, by key."""

    prompt = False

    def start(self) -> None:
        self._states: dict[int, Element] = {}
        self._keys: list[int] | None = None

    def __next__(self) -> Element:
        key_of, begin, advance, end = self.stage.functions
        if self._keys is None:
            for element in self.source:
                self.run.check()
                (number,) = key_of(self.run, *element)
                key = int(number)
                if key not in self._states:
                    self._states[key] = begin(self.run, np.int64(key))
                self._states[key] = advance(self.run, *self._states[key], *element)
            self._keys = sorted(self._states, reverse=True)
        if not self._keys:
            raise StopIteration
        return end(self.run, *self._states[self._keys.pop()])

    def save(self) -> dict[str, Any]:
        return {**super().save(), "states": plain(self._states), "keys": self._keys}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._states, self._keys = restored(state["states"]), state["keys"]
