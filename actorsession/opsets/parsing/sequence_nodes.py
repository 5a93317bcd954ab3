"""The operation type that parses sequences: ``ParseSequenceExampleV2``.

For the context it outputs indices, values and shapes of the sparse features, the dense ones, and then values
and row splits of ragged ones; the same for the features of the steps, where for each dense feature follows
the number of steps of each sequence, and the splits of ragged ones are those of sequences, then of steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int64, string
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import checked, op
from actorsession.ops.shape_operands import boxed, elements
from actorsession.opsets.parsing.example_nodes import after, check_splits, ragged_shapes, sparse_shapes, types_of
from actorsession.opsets.parsing.example_reader import KINDS, Cell, ExampleReader, WrongKindError, read_feature_lists
from actorsession.opsets.parsing.feature_values import (
    KIND_OF,
    FeatureError,
    fixed,
    ragged,
    sparse_of,
    splits_of,
    steps_of,
)
from actorsession.protobuf.wire import BYTES, WireError, read_bytes, read_tag, skip

__all__: list[str] = []

_DEFAULTS = 9  # the first operand that is a default of the context
_CONTEXT, _LISTS = 1, 2  # the fields of a SequenceExample
_PARTS = "context", "feature_list"


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    batch, attrs = ctx.inputs[0].shape, ctx.attrs
    if batch.rank not in (None, 0, 1):
        raise ValueError(f"{ctx.op} takes a vector of examples or one, got {batch}")
    rows = [types_of(attrs, f"{part}_ragged_value_types") for part in _PARTS]
    for part, kinds in zip(_PARTS, rows, strict=True):
        check_splits(ctx.op, len(kinds), types_of(attrs, f"{part}_ragged_split_types"))
    sparse = types_of(attrs, "context_sparse_types"), types_of(attrs, "feature_list_sparse_types")
    steps = types_of(attrs, "feature_list_dense_types")
    shapes = tuple([TensorShape(shape) for shape in attrs[f"{part}_dense_shapes"]] for part in _PARTS)
    for kind in (*sparse[0], *sparse[1], *steps, *rows[0], *rows[1]):
        if kind not in (string, float32, int64):
            raise TypeError(f"{ctx.op}: features are string, float32 or int64, got {kind.name}")
    if [len(ctx.inputs) - _DEFAULTS, len(steps)] != [len(some) for some in shapes]:
        raise ValueError(f"{ctx.op}: as many dense features as shapes are needed")
    for shape in (*shapes[0], *shapes[1]):
        if not shape.is_fully_defined():
            raise ValueError(f"{ctx.op}: Shape {shape} is not fully defined")
    inner = after(batch, TensorShape([None]))
    return [
        *sparse_shapes(len(sparse[0]), batch.rank),
        *[after(batch, shape) for shape in shapes[0]],
        *ragged_shapes(len(rows[0]), batch),
        *sparse_shapes(len(sparse[1]), batch.rank, axes=2),
        *[after(inner, shape) for shape in shapes[1]],
        *[batch for _ in steps],
        *ragged_shapes(len(rows[1]), batch),
        *[TensorShape([None]) for _ in rows[1]],
    ]


# -- kernel ----------------------------------------------------------------------------------------


def _kernel(ctx: KernelContext) -> Kernel:
    known = [ctx.constant(i) for i in range(2, _DEFAULTS)]
    plan = _Plan(ctx, known) if all(value is not None for value in known) else None

    def parse(*values: Any) -> Any:
        layout = plan or _Plan(ctx, values[2:_DEFAULTS])
        serialized = boxed(values[0])
        if serialized.ndim > 1:
            raise InvalidArgumentError(
                f"{ctx.op} takes a vector of examples or one, got shape {list(serialized.shape)}"
            )
        rows: list[bytes] = serialized.reshape(-1).tolist()
        names = [name for name in _strings(values[1]) if name or serialized.ndim]
        if names and len(names) != len(rows):
            raise InvalidArgumentError(
                f"{ctx.op}: example_names must be empty or have the correct number of elements: "
                f"{len(names)} names, {len(rows)} examples"
            )
        outputs = layout.parse(rows, names, [boxed(v) for v in values[_DEFAULTS:]], serialized.ndim)
        return outputs if len(outputs) != 1 else outputs[0]

    return parse


def _strings(value: Any) -> list[bytes]:
    strings: list[bytes] = boxed(value).ravel().tolist()
    return strings


class _Plan:
    """The work of one node on a batch, prepared as far as it is known in advance.

    Args:
        ctx: context of the kernel factory.
        keys: the operands with the keys and with the lists that may be missing.
    """

    def __init__(self, ctx: KernelContext, keys: Sequence[Any]) -> None:
        attrs = ctx.attrs
        self.op = ctx.op
        self.sparse = types_of(attrs, "context_sparse_types")
        self.dense = [spec.dtype for spec in ctx.inputs[_DEFAULTS:]]
        self.list_sparse = types_of(attrs, "feature_list_sparse_types")
        self.list_dense = types_of(attrs, "feature_list_dense_types")
        self.shapes, self.list_shapes = (
            [TensorShape(shape).as_tuple() for shape in attrs[f"{part}_dense_shapes"]] for part in _PARTS
        )
        self.ragged, self.list_ragged = (
            list(
                zip(
                    types_of(attrs, f"{part}_ragged_value_types"),
                    types_of(attrs, f"{part}_ragged_split_types"),
                    strict=True,
                )
            )
            for part in _PARTS
        )
        self.keys = [key for some in keys[:3] for key in _strings(some)]
        self.list_keys = [key for some in keys[3:6] for key in _strings(some)]
        self.types = [*self.sparse, *self.dense, *[kind for kind, _ in self.ragged]]
        self.list_types = [*self.list_sparse, *self.list_dense, *[kind for kind, _ in self.list_ragged]]
        self.may_miss: list[bool] = np.asarray(keys[6]).ravel().tolist()
        counts = (len(self.types), len(self.list_types), len(self.list_dense))
        if (len(set(self.keys)), len(set(self.list_keys)), len(self.may_miss)) != counts:
            raise InvalidArgumentError(
                f"{ctx.op}: {counts[0]} keys of the context and {counts[1]} of the steps are needed, all "
                f"different, got {self.keys!r:.200} and {self.list_keys!r:.200}"
            )
        self.kinds = [KIND_OF[kind] for kind in self.list_types]
        self.slots = {key: slot for slot, key in enumerate(self.list_keys)}
        self.reader = ExampleReader(self.keys, [KIND_OF[kind] for kind in self.types])

    def parse(self, rows: list[bytes], names: list[bytes], defaults: list[Array], axes: int) -> list[Any]:
        """Return all outputs for a batch, or for one example without the batch axis."""
        columns: list[list[Cell]] = [[None] * len(rows) for _ in self.keys]
        lists: list[dict[int, list[Cell]]] = []
        for row, data in enumerate(rows):
            lists.append(self._read(data, row, names, columns))
        try:
            steps = self._steps(lists, names, axes)
        except FeatureError as exc:
            raise InvalidArgumentError(f"{self.op}: in a step of a sequence: {exc.message}") from exc
        return [*self._context(columns, names, defaults, axes), *steps]

    def _read(self, data: bytes, row: int, names: list[bytes], columns: list[list[Cell]]) -> dict[int, list[Cell]]:
        """Parse one example into the columns, and return the cells of its lists."""
        cells_of: dict[int, list[Cell]] = {}
        pos, end, in_lists = 0, len(data), False
        try:
            while pos < end:
                number, wire_type, pos = read_tag(data, pos, end)
                if wire_type != BYTES or number not in (_CONTEXT, _LISTS):
                    pos = skip(data, pos, end, number, wire_type)
                    continue
                start, pos = read_bytes(data, pos, end)
                in_lists = number == _LISTS
                if in_lists:
                    read_feature_lists(data, start, pos, self.slots, self.kinds, cells_of)
                else:
                    self.reader.read_features(data, start, pos, row, columns)
        except WireError as exc:
            raise InvalidArgumentError(
                f"{self.op}: Invalid protocol message input, example id: {_called(row, names)} ({exc})"
            ) from exc
        except WrongKindError as exc:
            keys = self.list_keys if in_lists else self.keys
            dtypes = self.list_types if in_lists else self.types
            what = "Feature list" if in_lists else "Context feature"
            raise InvalidArgumentError(
                f"{self.op}: Name: {_called(row, names)}, {what}: {_shown(keys[exc.slot])}, Index: "
                f"{exc.step}. Data types don't match. Expected type: "
                f"{KINDS[KIND_OF[dtypes[exc.slot]]]}, actual type: {KINDS[exc.kind]}"
            ) from exc
        return cells_of

    def _context(self, columns: list[list[Cell]], names: list[bytes], defaults: list[Array], axes: int) -> list[Any]:
        sparse: list[Any] = []
        dense: list[Any] = []
        rows: list[Any] = []
        slot, count = 0, len(self.sparse)
        try:
            for slot, kind in enumerate(self.sparse):
                sparse.append(sparse_of(columns[slot], kind))
            for i, kind in enumerate(self.dense):
                slot = count + i
                default = defaults[i] if defaults[i].size else None
                dense.append(fixed(columns[slot], kind, self.shapes[i], default))
            for i, (kind, split) in enumerate(self.ragged):
                slot = count + len(self.dense) + i
                rows.append(ragged(columns[slot], kind, split))
        except FeatureError as exc:
            raise InvalidArgumentError(
                f"{self.op}: Name: {_called(exc.row, names)}, Context feature: {_shown(self.keys[slot])}. {exc.message}"
            ) from exc
        return [
            *_parts(sparse, axes),
            *[array if axes else array[0] for array in dense],
            *[values for values, _ in rows],
            *[splits if axes else splits[:0] for _, splits in rows],
        ]

    def _steps(self, lists: list[dict[int, list[Cell]]], names: list[bytes], axes: int) -> list[Any]:
        sparse = [
            steps_of([cells_of.get(slot, []) for cells_of in lists], kind) for slot, kind in enumerate(self.list_sparse)
        ]
        dense, lengths = [], []
        for i in range(len(self.list_dense)):
            array, length = self._dense_steps(lists, i, names)
            dense.append(array if axes else array[0])
            lengths.append(length if axes else length[0])
        return [*_parts(sparse, axes), *dense, *lengths, *self._ragged_steps(lists, axes)]

    def _ragged_steps(self, lists: list[dict[int, list[Cell]]], axes: int) -> list[Any]:
        """Return values, splits of sequences into steps, and splits of steps into values."""
        values, outer, inner = [], [], []
        first = len(self.list_sparse) + len(self.list_dense)
        for slot, (kind, split) in enumerate(self.list_ragged, first):
            steps = [cells_of.get(slot, []) for cells_of in lists]
            some, splits = ragged([cell for cells in steps for cell in cells], kind, split)
            counts = np.fromiter(map(len, steps), np.int64, len(steps))
            values.append(some)
            outer.append(splits_of(counts, split) if axes else splits[:0])
            inner.append(splits)
        return [*values, *outer, *inner]

    def _dense_steps(self, lists: list[dict[int, list[Cell]]], index: int, names: list[bytes]) -> tuple[Array, Array]:
        slot, kind, shape = (len(self.list_sparse) + index, self.list_dense[index], self.list_shapes[index])
        key = _shown(self.list_keys[slot])
        missing = [row for row, cells_of in enumerate(lists) if slot not in cells_of]
        if missing and not self.may_miss[index]:
            raise InvalidArgumentError(
                f"{self.op}: Name: {_called(missing[0], names)}, Feature list {key!r} is required but could "
                "not be found; allow_missing says that it may be missing"
            )
        places, values, extents, lengths = steps_of([cells_of.get(slot, []) for cells_of in lists], kind)
        size = math.prod(shape)
        counts = np.bincount(_step_numbers(places, lengths), minlength=int(lengths.sum()))
        wrong = np.flatnonzero(counts != size)
        if wrong.size:
            row = int(np.searchsorted(np.cumsum(lengths), wrong[0], side="right"))
            step = int(wrong[0] - lengths[:row].sum())
            raise InvalidArgumentError(
                f"{self.op}: Name: {_called(row, names)}, Key: {key}, Index: {step}. Number of values != "
                f"expected. values size: {counts[wrong[0]]} but output shape: {list(shape)}"
            )
        out: Array = np.empty((len(lists), int(extents[1]), size), kind.np_dtype)
        out[...] = b"" if kind is string else 0
        out[np.arange(out.shape[1]) < lengths[:, None]] = values.reshape(int(lengths.sum()), size)
        return out.reshape(*out.shape[:2], *shape), lengths


def _step_numbers(places: Array, lengths: Array) -> Array:
    """Return the number of the step of each value, counted through all sequences."""
    starts = np.cumsum(lengths) - lengths
    numbers: Array = starts[places[:, 0]] + places[:, 1]
    return numbers


def _parts(sparse: list[Any], axes: int) -> list[Any]:
    """Return indices, then values, then shapes, without the batch axis if there is none."""
    places, values, shapes = ([part[i] for part in sparse] for i in range(3))
    if not axes:
        places, shapes = [p[:, 1:].copy() for p in places], [s[1:].copy() for s in shapes]
    return [*places, *values, *shapes]


def _called(row: int, names: list[bytes]) -> str:
    return _shown(names[row]) if names else f"<unknown> ({row})"


def _shown(text: bytes) -> str:
    return text.decode(errors="replace")


op(
    "ParseSequenceExampleV2",
    checked(_shapes),
    kernel=_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=lambda inputs, outputs: 20 + 5 * elements(inputs[0]) * len(outputs),
)
