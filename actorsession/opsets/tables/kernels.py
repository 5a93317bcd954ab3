"""The op types of lookup tables, which are TensorFlow's, implemented on ``state``.

A handle has no static type of keys and values; ops infer it from their other operands and compare it with the
table when they run. Called by ``tables``.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from actorsession.config.file_roots import FileRoots
from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.graph.completion import Completed, Completion
from actorsession.graph.dtypes import DType, as_dtype, int64, string
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed
from actorsession.ops.shared_state import check_handle_of, register_state
from actorsession.opsets.tables.state import TableState
from actorsession.opsets.text.kernels import one_string, string_array
from transports.host import current_host

__all__ = ["LINE_NUMBER", "WHOLE_LINE"]

# Special columns of a file: the whole line, and the line number.
WHOLE_LINE, LINE_NUMBER = -2, -1
_KIND = "table"


def _table(label: str, attrs: Mapping[str, Any], static: bool) -> TableState:
    shape = TensorShape(attrs.get("value_shape", ())).as_tuple()
    types = as_dtype(attrs["key_dtype"]), as_dtype(attrs["value_dtype"])
    return TableState(label, *types, tuple(int(d or 0) for d in shape), static)


register_state("HashTableV2", _KIND, "HashTable", lambda label, attrs: _table(label, attrs, True))
for _what in ("MutableHashTable", "MutableHashTableOfTensors"):
    register_state(f"{_what}V2", _KIND, _what, lambda label, attrs: _table(label, attrs, False))


# -- tables with reserved keys ---------------------------------------------------------------------


def _dense_kernel(ctx: KernelContext) -> Kernel:
    """Make the table when its reserved keys are known: when the node runs for the first time."""
    attrs = ctx.attrs
    buckets = attrs["initial_num_buckets"]
    if buckets < 4 or buckets & (buckets - 1):
        raise InvalidArgumentError(f"Number of buckets must be at least 4 and a power of 2, got: {buckets}")
    name = attrs["shared_name"] or ctx.name
    shape = tuple(int(d or 0) for d in TensorShape(attrs["value_shape"]).as_tuple())
    types = as_dtype(ctx.inputs[0].dtype), as_dtype(attrs["value_dtype"])

    def table(empty: Any, deleted: Any) -> TableState:
        [first], [last] = map(_keys, (empty, deleted))
        if first == last:
            raise InvalidArgumentError("Empty and deleted keys cannot be equal")
        reserved = (("empty_key", first), ("deleted_key", last))

        def new() -> TableState:
            return TableState(f"table {name!r}", *types, shape, False, reserved)

        if not attrs["shared_name"]:
            state: TableState = ctx.state(new)
            return state
        spec = f"a table of {types[0].name} to {types[1].name} {list(shape)} without {reserved}"
        shared: TableState = ctx.resources.lookup_or_create(attrs["container"], name, _KIND, new, spec)
        return shared

    return table


def _handle(ctx: InferContext) -> list[TensorShape]:
    for spec in ctx.inputs:
        if spec.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: keys are scalars here, got shape {spec.shape}")
    return [scalar_shape]


op(
    "MutableDenseHashTableV2",
    _handle,
    kernel=_dense_kernel,
    grad=NOT_DIFFERENTIABLE,
    aliases=True,
    keeps=frozenset({0, 1}),
)


# -- keys and values as arrays ---------------------------------------------------------------------


def _check_types(table: TableState, keys: DType | None, values: DType | None, op: str) -> None:
    for what, actual, expected in (("keys", keys, table.key_dtype), ("values", values, table.value_dtype)):
        if actual is not None and actual is not expected:
            raise InvalidArgumentError(f"{op}: the {what} of {table.label} are {expected.name}, got {actual.name}")


def _keys(value: Any) -> list[Any]:
    """Return keys as Python objects."""
    keys: list[Any] = np.asarray(boxed(value)).ravel().tolist()
    return keys


def _values(value: Any, count: int, table: TableState, op: str) -> list[Any]:
    """Return values as Python objects; values with a shape as arrays of their own."""
    array = np.asarray(boxed(value))
    if array.size != count * int(np.prod(table.shape)) or array.shape[array.ndim - len(table.shape) :] != table.shape:
        raise InvalidArgumentError(
            f"{op}: {count} keys of {table.label} need values of shape {[count, *table.shape]}, got {list(array.shape)}"
        )
    if not table.shape:
        return array.ravel().tolist()
    return [row.copy() for row in array.reshape(count, *table.shape)]


def _stacked(values: list[Any], shape: tuple[int, ...], table: TableState) -> Any:
    """Return values as an array, for keys of the given shape."""
    dtype = table.value_dtype
    whole = (*shape, *table.shape)
    if dtype is string and not table.shape:
        return string_array(values, whole)
    if not table.shape:
        return np.array(values, dtype.np_dtype).reshape(whole)[()]
    out = np.empty((len(values), *table.shape), dtype.np_dtype)
    for row, value in zip(out, values, strict=True):
        row[...] = value
    return out.reshape(whole)[()]


# -- looking up ------------------------------------------------------------------------------------


def _lookup_shape(ctx: InferContext) -> list[TensorShape]:
    check_handle_of(ctx, "a table")
    return [ctx.inputs[1].shape.concatenate(ctx.inputs[2].shape)]


def _find_kernel(ctx: KernelContext) -> Kernel:
    types = ctx.inputs[1].dtype, ctx.inputs[2].dtype

    def find(table: TableState, keys: Any, default: Any) -> Any:
        _check_types(table, *types, ctx.op)
        [fallback] = _values(default, 1, table, ctx.op)
        array = np.asarray(boxed(keys))
        names = _keys(array)
        table.check_keys(names)
        return _stacked(table.find(names, fallback), array.shape, table)

    return find


def _size_shape(ctx: InferContext) -> list[TensorShape]:
    check_handle_of(ctx, "a table")
    return [scalar_shape]


def _export_shapes(ctx: InferContext) -> list[TensorShape]:
    check_handle_of(ctx, "a table")
    return [TensorShape([None]), unknown_shape]


def _export_kernel(ctx: KernelContext) -> Kernel:
    types = ctx.outputs[0].dtype, ctx.outputs[1].dtype

    def export(table: TableState) -> Any:
        _check_types(table, *types, ctx.op)
        entries = table.entries()
        keys = list(entries)
        exported = string_array(keys, (len(keys),)) if types[0] is string else np.array(keys, types[0].np_dtype)
        return exported, _stacked(list(entries.values()), (len(keys),), table)

    return export


op("LookupTableFindV2", _lookup_shape, kernel=_find_kernel, grad=NOT_DIFFERENTIABLE)
op("LookupTableSizeV2", _size_shape, lambda table: np.int64(table.size()), NOT_DIFFERENTIABLE)
op("LookupTableExportV2", _export_shapes, kernel=_export_kernel, grad=NOT_DIFFERENTIABLE)


# -- filling ---------------------------------------------------------------------------------------


def _check_entries(ctx: InferContext) -> list[TensorShape]:
    check_handle_of(ctx, "a table")
    if len(ctx.inputs) == 2:
        return []
    keys, values = (spec.shape for spec in ctx.inputs[1:])
    if keys.sizes is not None and values.sizes is not None:
        fits = len(values.sizes) >= len(keys.sizes) and keys.is_compatible_with(values.sizes[: len(keys.sizes)])
        if not fits:
            raise ValueError(f"{ctx.op}: each key has a value, got shapes {keys} and {values}")
    return []


def _change_kernel(ctx: KernelContext) -> Kernel:
    types = ctx.inputs[1].dtype, ctx.inputs[2].dtype
    insert = ctx.op == "LookupTableInsertV2"

    def change(table: TableState, keys: Any, values: Any) -> None:
        _check_types(table, *types, ctx.op)
        names = _keys(keys)
        if insert:
            table.check_keys(names)
        pairs = zip(names, _values(values, len(names), table, ctx.op), strict=True)
        if insert:
            table.insert(pairs)
        else:
            table.fill(pairs)

    return change


def _remove_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[1].dtype

    def remove(table: TableState, keys: Any) -> Completion:
        _check_types(table, dtype, None, ctx.op)
        names = _keys(keys)
        table.check_keys(names)
        return Completed((), table.remove(names))

    return remove


for _name in ("LookupTableInsertV2", "LookupTableImportV2", "InitializeTableV2"):
    op(_name, _check_entries, kernel=_change_kernel, grad=NOT_DIFFERENTIABLE)
# This op never waits. It takes an entry like a dequeue: a step that pops an entry looks it up and removes it.
op("LookupTableRemoveV2", _check_entries, kernel=_remove_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, takes=True)


# -- from a file -----------------------------------------------------------------------------------


def _check_file(ctx: InferContext) -> list[TensorShape]:
    check_handle_of(ctx, "a table")
    name = ctx.inputs[1]
    if name.dtype is not string or name.shape.rank not in (None, 0):
        raise ValueError(f"{ctx.op}: a file name is a string scalar, got {name.dtype.name} {name.shape}")
    if len(ctx.attrs["delimiter"].encode()) != 1:
        raise ValueError(f"{ctx.op}: delimiter is one character, got {ctx.attrs['delimiter']!r:.100}")
    if min(ctx.attrs["key_index"], ctx.attrs["value_index"]) < WHOLE_LINE:
        raise ValueError(f"{ctx.op}: columns are {WHOLE_LINE} at least")
    return []


def _lines(name: bytes, most: int, files: FileRoots) -> Iterator[bytes]:
    """Yield the lines of a file, at most ``most`` if that is not negative."""
    try:
        with current_host().files.open_file(os.fsdecode(name), opener=files.opener) as file:
            read = 0
            for read, line in enumerate(file, 1):
                if most >= 0 and read > most:
                    return
                yield line.rstrip(b"\n").removesuffix(b"\r")
    except FileNotFoundError:
        raise NotFoundError(f"{name.decode(errors='replace')}; No such file or directory") from None
    except OSError as error:
        raise InvalidArgumentError(f"cannot read {name.decode(errors='replace')}: {error}") from None
    if read < most:
        raise InvalidArgumentError(
            f"Invalid vocab_size in {name.decode(errors='replace')}: expected {most} but got {read}"
        )


def _cell(line: bytes, number: int, column: int, delimiter: bytes, dtype: DType) -> Any:
    """Return a key or value from a line."""
    if column == LINE_NUMBER:
        return number
    text = line
    if column != WHOLE_LINE:
        cells = line.split(delimiter)
        if column >= len(cells):
            raise InvalidArgumentError(
                f"Invalid number of columns in line {number} ({line!r:.100}): expected at least "
                f"{column + 1} but got {len(cells)}"
            )
        text = cells[column]
    if dtype is string:
        return text
    try:
        return float(text) if dtype.is_floating else int(text)
    except ValueError:
        raise InvalidArgumentError(f"Field {text!r:.100} in line {number} is not a valid {dtype.name}") from None


def _remapped(ctx: InferContext) -> list[TensorShape]:
    attrs = ctx.attrs
    if attrs["new_vocab_offset"] < 0 or attrs["num_new_vocab"] < 0 or attrs["old_vocab_size"] < -1:
        raise ValueError(f"{ctx.op}: new_vocab_offset and num_new_vocab are at least 0 and old_vocab_size at least -1")
    for spec in ctx.inputs:
        spec.shape.with_rank(0)
    return [TensorShape([attrs["num_new_vocab"]]), scalar_shape]


def _remap_kernel(ctx: KernelContext) -> Kernel:
    attrs, host = ctx.attrs, ctx.resources
    first, count, most = attrs["new_vocab_offset"], attrs["num_new_vocab"], attrs["old_vocab_size"]

    def remap(new: Any, old: Any) -> Any:
        known: dict[bytes, int] = {}
        for number, line in enumerate(_lines(one_string(old), -1, host.files)):
            if most < 0 or number < most:
                known.setdefault(line, number)
        lines = list(itertools.islice(_lines(one_string(new), -1, host.files), first, first + count))
        if len(lines) < count:
            raise InvalidArgumentError(
                f"{ctx.op}: the new vocabulary has {first + len(lines)} lines; {first + count} are needed"
            )
        rows = np.array([known.get(line, -1) for line in lines], np.int64)
        return rows, np.int32((rows >= 0).sum())

    return remap


op("GenerateVocabRemapping", _remapped, kernel=_remap_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)


def _from_file_kernel(ctx: KernelContext) -> Kernel:
    attrs, host = ctx.attrs, ctx.resources
    key_column, value_column, offset = attrs["key_index"], attrs["value_index"], attrs["offset"]
    delimiter = attrs["delimiter"].encode()

    def read(table: TableState, filename: Any) -> None:
        types = table.key_dtype, table.value_dtype
        for dtype, column in zip(types, (key_column, value_column), strict=True):
            if (column == LINE_NUMBER and dtype is not int64) or (column == WHOLE_LINE and dtype is not string):
                raise InvalidArgumentError(
                    f"{table.label}: line numbers are int64 and whole lines strings, got {dtype.name}"
                )
        table.fill(
            (
                _cell(line, number, key_column, delimiter, types[0]),
                _cell(line, number + offset * (value_column == LINE_NUMBER), value_column, delimiter, types[1]),
            )
            for number, line in enumerate(_lines(one_string(filename), attrs["vocab_size"], host.files))
        )

    return read


op(
    "InitializeTableFromTextFileV2",
    _check_file,
    kernel=_from_file_kernel,
    grad=NOT_DIFFERENTIABLE,
    blocks=True,
    opens_files=True,
)
