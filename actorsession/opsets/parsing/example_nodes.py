"""The operation types that parse examples: ``ParseExampleV2``, ``ParseExample`` and ``ParseSingleExample``.

All three output, for the sparse features, indices, then values, then shapes, and after those the dense
features. They differ in where the keys are: in vectors, in separate scalars (graphs of TensorFlow 1), or in
attributes. Graphs are built with the first, the others are for imported graphs; so are the ragged features of
the first, whose values and row splits come last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, float32, int32, int64, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.rows import checked, op
from actorsession.ops.shape_operands import boxed, elements
from actorsession.opsets.parsing.example_batches import BatchReader, ExampleError
from actorsession.opsets.parsing.example_reader import KINDS
from actorsession.opsets.parsing.feature_values import (
    KIND_OF,
    AnyColumn,
    FeatureError,
    fixed,
    padded,
    ragged,
    sparse_of,
)
from actorsession.protobuf.wire import WireError
from actorsession.records import dataclass

__all__ = ["ParsePlan", "after", "check_splits", "ragged_shapes", "sparse_shapes", "types_of"]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The positions of the operands of one operation type.

    Attributes:
        names: index of the operand that names the examples; ``None`` if there is none.
        keys: function from the context and the operands to the keys of sparse, dense and ragged features.
        defaults: function from the context to the index of the first default.
        single: whether the input is always a single example.
    """

    names: int | None
    keys: Callable[[Any, Sequence[Any]], list[list[bytes]]]
    defaults: Callable[[Any], int]
    single: bool = False


def _strings(value: Any) -> list[bytes]:
    strings: list[bytes] = boxed(value).ravel().tolist()
    return strings


def _of_vectors(_ctx: Any, values: Sequence[Any]) -> list[list[bytes]]:
    return [_strings(value) for value in values[2:5]]


def _of_scalars(ctx: Any, values: Sequence[Any]) -> list[list[bytes]]:
    first, last = 2 + ctx.attrs["Nsparse"], 2 + ctx.attrs["Nsparse"] + ctx.attrs["Ndense"]
    parts = values[2:first], values[first:last]
    return [*[[key for value in part for key in _strings(value)] for part in parts], []]


def _of_attributes(ctx: Any, _values: Sequence[Any]) -> list[list[bytes]]:
    sparse, dense = (
        [k.encode() if isinstance(k, str) else k for k in ctx.attrs[name]] for name in ("sparse_keys", "dense_keys")
    )
    return [sparse, dense, []]


_LAYOUTS = {
    "ParseExampleV2": _Layout(1, _of_vectors, lambda _ctx: 5),
    "ParseExample": _Layout(1, _of_scalars, lambda ctx: 2 + ctx.attrs["Nsparse"] + ctx.attrs["Ndense"]),
    "ParseSingleExample": _Layout(None, _of_attributes, lambda _ctx: 1, single=True),
}


# -- static types ----------------------------------------------------------------------------------


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    layout = _LAYOUTS[ctx.op]
    rank = ctx.inputs[0].shape.rank
    if layout.single and rank not in (None, 0):
        raise ValueError(f"{ctx.op} takes one example, got shape {ctx.inputs[0].shape}")
    if rank not in (None, 0, 1):
        raise ValueError(f"{ctx.op} takes a vector of examples or one, got shape {ctx.inputs[0].shape}")
    sparse, ragged = (types_of(ctx.attrs, name) for name in ("sparse_types", "ragged_value_types"))
    for kind in (*sparse, *ragged):
        if kind not in (string, float32, int64):
            raise TypeError(f"{ctx.op}: features are string, float32 or int64, got {kind.name}")
    dense = len(ctx.inputs) - layout.defaults(ctx)
    shapes = [TensorShape(shape) for shape in ctx.attrs["dense_shapes"]]
    _check_counts(ctx, len(sparse), dense, len(shapes), len(ragged))
    batch = TensorShape([]) if layout.single else ctx.inputs[0].shape
    return [
        *sparse_shapes(len(sparse), batch.rank),
        *[after(batch, shape) for shape in shapes],
        *ragged_shapes(len(ragged), batch),
    ]


def types_of(attrs: Mapping[str, Any], name: str) -> list[DType]:
    """Return the element types in an attribute; none if it is missing."""
    return [as_dtype(kind) for kind in attrs.get(name, ())]


def sparse_shapes(count: int, rank: int | None, axes: int = 1) -> list[TensorShape]:
    """Return the shapes of the indices, values and shapes of sparse features.

    Args:
        count: number of features.
        rank: rank of the batch.
        axes: number of axes of a feature.
    """
    whole = None if rank is None else rank + axes
    places, values, extents = TensorShape([None, whole]), TensorShape([None]), TensorShape([whole])
    return [shape for shape in (places, values, extents) for _ in range(count)]


def ragged_shapes(count: int, batch: TensorShape) -> list[TensorShape]:
    """Return the shapes of the values and of the row splits of ragged features, as ``sparse_shapes``."""
    rows = batch.sizes[0] if batch.sizes else None
    splits = TensorShape([None if rows is None else rows + 1])
    return [TensorShape([None])] * count + [splits] * count


def after(before: TensorShape, shape: TensorShape) -> TensorShape:
    """Return the two shapes joined; unknown if the rank of the first is."""
    return unknown_shape if before.rank is None else before.concatenate(shape)


def _check_counts(ctx: InferContext, sparse: int, dense: int, shapes: int, ragged: int) -> None:
    attrs = ctx.attrs
    check_splits(ctx.op, ragged, types_of(attrs, "ragged_split_types"))
    said = attrs.get("num_sparse", attrs.get("Nsparse", sparse))
    if said != sparse or dense != shapes or attrs.get("Ndense", dense) != dense:
        raise ValueError(
            f"{ctx.op}: {said} sparse features have {sparse} types, and {dense} defaults of dense ones "
            f"have {shapes} shapes"
        )


def check_splits(op: str, values: int, splits: Sequence[DType]) -> None:
    """Check that there is one type of row splits for each ragged feature.

    Raises:
        ValueError: if there are more or fewer.
        TypeError: if one is neither int32 nor int64.
    """
    if values != len(splits):
        raise ValueError(f"{op}: {values} ragged features have {len(splits)} types of row splits")
    for kind in splits:
        if kind not in (int32, int64):
            raise TypeError(f"{op}: row splits are int32 or int64, got {kind.name}")


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(ctx: KernelContext) -> Kernel:
    layout = _LAYOUTS[ctx.op]
    first = layout.defaults(ctx)
    known = [ctx.constant(i) for i in range(first)]
    dense = [spec.dtype for spec in ctx.inputs[first:]]
    plan: list[ParsePlan] = []
    if all(value is not None for value in known[2:]):
        plan.append(ParsePlan(ctx.op, ctx.attrs, dense, *layout.keys(ctx, known)))

    def parse(*values: Any) -> Any:
        layout_plan = plan[0] if plan else ParsePlan(ctx.op, ctx.attrs, dense, *layout.keys(ctx, values))
        names = [] if layout.names is None else _strings(values[layout.names])
        serialized = boxed(values[0])
        if serialized.ndim > 1 or (layout.single and serialized.ndim):
            raise InvalidArgumentError(
                f"{ctx.op} takes a vector of examples or one, got shape {list(serialized.shape)}"
            )
        rows: list[bytes] = serialized.reshape(-1).tolist()
        if names and len(names) != len(rows):
            raise InvalidArgumentError(
                f"{ctx.op}: Expected names have the same shape as serialized: {len(names)} names, {len(rows)} examples"
            )
        outputs = layout_plan.parse(rows, names, [boxed(value) for value in values[first:]])
        if not serialized.ndim:
            outputs = layout_plan.without_batch(outputs)
        return outputs if len(outputs) != 1 else outputs[0]

    return parse


class ParsePlan:
    """The work of one node on a batch, prepared as far as it is known in advance.

    Args:
        op: the op type of the node.
        attrs: its attributes.
        dense_types: dtypes of its dense features.
        keys: keys of its sparse, dense and ragged features.
    """

    def __init__(self, op: str, attrs: Mapping[str, Any], dense_types: Sequence[DType], *keys: list[bytes]) -> None:
        self.op = op
        self.sparse = types_of(attrs, "sparse_types")
        self.ragged = types_of(attrs, "ragged_value_types")
        self.splits = types_of(attrs, "ragged_split_types")
        self.dense = list(dense_types)
        self.shapes = [TensorShape(shape).sizes or () for shape in attrs["dense_shapes"]]
        counts = [len(types) for types in (self.sparse, self.dense, self.ragged)]
        if [len(some) for some in keys] != counts:
            raise InvalidArgumentError(
                f"{op} has {counts} sparse, dense and ragged features, got {[len(some) for some in keys]} keys"
            )
        self.keys = [key for some in keys for key in some]
        if len(set(self.keys)) != len(self.keys):
            raise InvalidArgumentError(f"{op}: a key is wanted twice, of {self.keys!r:.200}")
        self.types = [*self.sparse, *self.dense, *self.ragged]
        self.reader = BatchReader(self.keys, [KIND_OF[kind] for kind in self.types])

    def parse(self, rows: list[bytes], names: list[bytes], defaults: list[Array]) -> list[Any]:
        """Return all outputs for a batch."""
        columns = self._columns(rows, names)
        sparse: list[Any] = []
        dense: list[Any] = []
        rows_of: list[Any] = []
        slot = 0
        try:
            for slot, dtype in enumerate(self.sparse):
                sparse.append(sparse_of(columns[slot], dtype))
            for i, default in enumerate(defaults):
                slot = len(self.sparse) + i
                dense.append(self._dense(columns[slot], i, default))
            for i, (dtype, split) in enumerate(zip(self.ragged, self.splits, strict=True)):
                slot = len(self.sparse) + len(defaults) + i
                rows_of.append(ragged(columns[slot], dtype, split))
        except FeatureError as exc:
            raise InvalidArgumentError(f"{self._where(slot, exc.row, names)}. {exc.message}") from exc
        sparse = [part[i] for i in range(3) for part in sparse]
        return sparse + dense + [part[i] for i in range(2) for part in rows_of]

    def _columns(self, rows: list[bytes], names: list[bytes]) -> Sequence[AnyColumn]:
        try:
            return self.reader.read(rows)
        except ExampleError as exc:
            row, cause = exc.row, exc.cause
            if isinstance(cause, WireError):
                called = f", called {names[row]!r:.100}" if names else ""
                raise InvalidArgumentError(
                    f"{self.op}: Could not parse example input {row}{called}, value: {rows[row]!r:.100} ({cause})"
                ) from exc
            expected = self.types[cause.slot]
            raise InvalidArgumentError(
                f"{self._where(cause.slot, row, names)}. Data types don't match. Expected type: "
                f"{KINDS[KIND_OF[expected]]}, actual type: {KINDS[cause.kind]}"
            ) from exc

    def _where(self, slot: int, row: int, names: list[bytes]) -> str:
        name = names[row].decode(errors="replace") if names else "<unknown>"
        return f"{self.op}: Name: {name}, Key: {self.keys[slot].decode(errors='replace')}, Index: {row}"

    def _dense(self, column: AnyColumn, index: int, default: Array) -> Array:
        dtype, shape = self.dense[index], self.shapes[index]
        if shape and shape[0] is None:
            if default.size != 1:
                raise FeatureError(0, f"padding is one value, got shape {list(default.shape)}")
            return padded(column, dtype, _known(shape[1:]), default.reshape(-1)[0])
        sizes = _known(shape)
        if default.size and default.shape != sizes:
            raise FeatureError(0, f"the default has shape {list(default.shape)}, {list(sizes)} is wanted")
        return fixed(column, dtype, sizes, default if default.size else None)

    def without_batch(self, outputs: list[Any]) -> list[Any]:
        """Return the outputs for one example, without the axis of the batch."""
        count = len(self.sparse)
        places = [place[:, 1:].copy() for place in outputs[:count]]
        shapes = [shape[1:].copy() for shape in outputs[2 * count : 3 * count]]
        first = 3 * count + len(self.dense)
        dense, last = [a[0] for a in outputs[3 * count : first]], first + len(self.ragged)
        splits = [split[:0] for split in outputs[last:]]
        return [*places, *outputs[count : 2 * count], *shapes, *dense, *outputs[first:last], *splits]


def _known(sizes: Sequence[int | None]) -> tuple[int, ...]:
    if None in sizes:
        raise FeatureError(0, f"sizes behind the first are known, got {list(sizes)}")
    return tuple([size for size in sizes if size is not None])


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return the usual cost: some microseconds per feature, plus a fraction of one per example."""
    return 10 + (5 + 0.2 * elements(inputs[0])) * len(outputs)


for _name in _LAYOUTS:
    op(_name, checked(_shapes), kernel=_kernel, grad=NOT_DIFFERENTIABLE, cost=_cost)
