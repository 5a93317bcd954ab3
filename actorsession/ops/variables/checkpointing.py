"""Ops that save and restore tensors: ``SaveV2``, ``RestoreV2``, their older kin, and ops that merge shards.

Owns the nodes; the file formats are those of ``checkpoints``. Files are written and read where the op runs,
which for a remote session is the task on which it is placed. Savers build these nodes.

``RestoreV2`` reads all requested tensors before it returns any, and checks them against the static types of
its outputs: damaged or missing tensors and wrong shapes fail before any variable changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import checkpoints
from actorsession.checkpoints import CheckpointReader
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, string, variant
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.rows import check_inputs, checked, no_outputs, op, scalar

__all__ = ["merge_v2_checkpoints", "restore_v2", "save_slices", "save_v2", "sharded_filename", "sharded_filespec"]


# -- nodes -----------------------------------------------------------------------------------------


def save_v2(
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Any],
    name: str | None = None,
    *,
    bundle: bool = False,
) -> Operation:
    """Write tensors to a new checkpoint atomically.

    Args:
        prefix: prefix of the checkpoint's file, a string; missing folders are made.
        tensor_names: a name for each tensor, a string vector.
        shape_and_slices: for each tensor the shape of a larger tensor and its slice of that tensor, as in
            ``"5 4 2,2:-"``; empty for a whole tensor.
        tensors: the tensors to save, of any dtype but ``resource``.
        name: wanted name.
        bundle: whether to write TensorFlow's format instead of the library's own.

    Raises:
        TypeError: for other dtypes.
        ValueError: if the three do not have one length.
    """
    return raw.SaveV2(prefix, tensor_names, shape_and_slices, tensors, bundle=bundle, name=name)


def save_slices(
    filename: Any, tensor_names: Any, shapes_and_slices: Any, data: Sequence[Any], name: str | None = None
) -> Operation:
    """Write tensors as a file of TensorFlow's first format; the arguments are those of ``save_v2``.

    Raises:
        TypeError: for dtypes that cannot be saved.
        ValueError: if the three do not have one length.
    """
    return raw.SaveSlices(filename, tensor_names, shapes_and_slices, data, name=name)


def restore_v2(
    prefix: Any, tensor_names: Any, shape_and_slices: Any, dtypes: Sequence[Any], name: str | None = None
) -> list[Tensor]:
    """Read tensors from a checkpoint, in this library's format or in TensorFlow's.

    Args:
        prefix: prefix of the checkpoint's files, a string.
        tensor_names: the tensors, a string vector.
        shape_and_slices: the slice of each tensor to read, as for ``save_v2``.
        dtypes: element type of each.
        name: wanted name.

    Returns:
        A tensor for each name, of unknown shape. Where a shape is set, the checkpoint must have it.

    Raises:
        TypeError: for other dtypes.
        ValueError: if the three do not have one length.
    """
    return raw.RestoreV2(prefix, tensor_names, shape_and_slices, dtypes=dtypes, name=name)


def sharded_filename(basename: Any, shard: Any, num_shards: Any, name: str | None = None) -> Tensor:
    """Return the prefix of one shard of a checkpoint: ``basename-00000-of-00002``.

    Args:
        basename: prefix of the whole checkpoint, a string.
        shard: number of the shard, int32.
        num_shards: number of shards, int32.
        name: wanted name.
    """
    return raw.ShardedFilename(basename, shard, num_shards, name=name)


def sharded_filespec(basename: Any, num_shards: Any, name: str | None = None) -> Tensor:
    """Return the pattern that names all files of a checkpoint in TensorFlow's first format.

    Args:
        basename: prefix of the whole checkpoint, a string.
        num_shards: number of shards, int32.
        name: wanted name.
    """
    return raw.ShardedFilespec(basename, num_shards, name=name)


def merge_v2_checkpoints(
    checkpoint_prefixes: Any, destination_prefix: Any, delete_old_dirs: bool = True, name: str | None = None
) -> Operation:
    """Merge shards into one checkpoint by moving their files, all of which this op must be able to access.

    Args:
        checkpoint_prefixes: prefixes of the shards, a string vector.
        destination_prefix: prefix of the merged checkpoint, a string.
        delete_old_dirs: whether folders that become empty are removed.
        name: wanted name.
    """
    return raw.MergeV2Checkpoints(
        checkpoint_prefixes, destination_prefix, delete_old_dirs=bool(delete_old_dirs), name=name
    )


# -- static types ----------------------------------------------------------------------------------


_PLACES = ("tensor_names", "shape_and_slices")


def _saved(ctx: InferContext) -> Sequence[TensorShape]:
    places = 1 if ctx.op == "Save" else 2
    actual = [spec.dtype for spec in ctx.inputs[1 + places :]]
    dtypes = [as_dtype(t) for t in ctx.attrs.get("dtypes", actual)]
    if actual != dtypes:
        expected, input_types = (", ".join(t.name for t in some) for some in (dtypes, actual))
        raise TypeError(f"{ctx.op} says that it saves {expected}; its inputs are {input_types}")
    _check_addressed(ctx, dtypes, places)
    return []


def _restored_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    dtypes = [as_dtype(t) for t in ctx.attrs["dtypes"]]
    _check_addressed(ctx, dtypes)
    return [unknown_shape for _ in dtypes]


def _restored_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx, *([0] * len(ctx.inputs)))
    return [unknown_shape]


def _check_addressed(ctx: InferContext, dtypes: Sequence[DType], places: int = 2) -> None:
    """Check the inputs that say where the tensors are, and the dtypes of the tensors."""
    check_inputs(ctx, 0, *([1] * places))
    if any(dtype.kind == "r" for dtype in dtypes):
        raise TypeError(f"{ctx.op} takes numbers and strings; a resource is neither")
    for i, what in enumerate(_PLACES[:places], 1):
        count = ctx.inputs[i].shape.num_elements()
        if count not in (None, len(dtypes)):
            raise ValueError(f"{ctx.op} has {len(dtypes)} tensors and {count} {what}")


# -- kernels ---------------------------------------------------------------------------------------


def _text(op: str, value: Any) -> str:
    """Return the single string of a value; InvalidArgumentError for another shape."""
    item = value if isinstance(value, (bytes, str)) else np.asarray(value)
    if isinstance(item, np.ndarray):
        if item.ndim:
            raise InvalidArgumentError(f"{op} takes one string here, got shape {list(item.shape)}")
        item = item[()]
    try:
        return item.decode() if isinstance(item, bytes) else str(item)
    except UnicodeDecodeError as exc:
        raise InvalidArgumentError(f"{op}: {item!r:.100} is not UTF-8") from exc


def _texts(op: str, value: Any) -> list[str]:
    items = np.asarray(value, object)
    if items.ndim != 1:
        raise InvalidArgumentError(f"{op} takes a vector of strings here, got {list(items.shape)}")
    return [_text(op, item) for item in items]


def _lists(op: str, count: int, names: Any, slices: Any) -> tuple[list[str], list[str]]:
    columns = _texts(op, names), _texts(op, slices)
    for what, texts in zip(("tensor_names", "shape_and_slices"), columns, strict=True):
        if len(texts) != count:
            raise InvalidArgumentError(f"{op} has {count} tensors and {len(texts)} {what}")
    return columns


def _save_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources
    write = checkpoints.save_bundle if ctx.attrs["bundle"] else checkpoints.save

    def save(prefix: Any, names: Any, slices: Any, *values: Any) -> None:
        chosen, specs = _lists(op, len(values), names, slices)
        # A string scalar is plain bytes, which numpy would convert to a fixed-length string type.
        arrays = [np.array(v, object) if isinstance(v, (bytes, str)) else v for v in values]
        write(host.files.prefix(_text(op, prefix)), chosen, specs, arrays, host.files)

    return save


def _oldest_kernel(ctx: KernelContext) -> Kernel:
    op, host, whole = ctx.op, ctx.resources, ctx.op == "Save"

    def save(path: Any, names: Any, *values: Any) -> None:
        places, values = ([""] * len(values), values) if whole else (values[0], values[1:])
        chosen, specs = _lists(op, len(values), names, places)
        arrays = [np.array(v, object) if isinstance(v, (bytes, str)) else v for v in values]
        checkpoints.save_slices(host.files.prefix(_text(op, path)), chosen, specs, arrays, host.files)

    return save


def _restore_kernel(ctx: KernelContext) -> Kernel:
    op, outputs, host = ctx.op, ctx.outputs, ctx.resources

    def restore(prefix: Any, names: Any, slices: Any) -> Any:
        chosen, specs = _lists(op, len(outputs), names, slices)
        path = _text(op, prefix)
        with CheckpointReader(host.files.prefix(path), host.files) as reader:
            values = tuple(
                _restored(reader, path, name, spec, output)
                for name, spec, output in zip(chosen, specs, outputs, strict=True)
            )
        return values if len(values) != 1 else values[0]

    return restore


def _restore_one_kernel(ctx: KernelContext) -> Kernel:
    op, output, host = ctx.op, ctx.outputs[0], ctx.resources

    def restore(pattern: Any, name: Any, place: Any = "") -> Any:
        path = _text(op, pattern)
        with CheckpointReader(host.files.prefix(path), host.files) as reader:
            return _restored(reader, path, _text(op, name), _text(op, place), output)

    return restore


def _restored(reader: CheckpointReader, path: str, name: str, spec: str, expected: TensorSpec) -> Array | Any:
    """Return one tensor of a checkpoint, after a check of its dtype and shape."""
    part = checkpoints.parse_spec(spec)
    entry = reader.entry(name)
    # The variants that are saved, positions of iterators, consist of bytes, as strings do.
    dtype = string if expected.dtype is variant else expected.dtype
    if entry.dtype is not dtype:
        raise InvalidArgumentError(
            f"{name!r} is {entry.stored} in the checkpoint {path!r}; {expected.dtype.name} is wanted here"
        )
    shape = entry.shape if part is None else part[1].sizes
    if not expected.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"{name!r} has shape {list(shape)} in the checkpoint {path!r}; shape {expected.shape} is wanted here"
        )
    return (entry.read(name, path) if part is None else reader.read(name, part))[()]


def _loaded(ctx: InferContext) -> Sequence[TensorShape]:
    rows, columns = ctx.attrs["num_rows"], ctx.attrs["num_cols"]
    for index, count in ((2, rows), (3, None)):
        if not ctx.inputs[index].shape.is_compatible_with([count]):
            raise ValueError(
                f"{ctx.op}: a row for each of {rows}, and a column for each or none, got shape "
                f"{ctx.inputs[index].shape}"
            )
    return [TensorShape([rows, columns])]


def _load_kernel(ctx: KernelContext) -> Kernel:
    """Load a matrix of a checkpoint whose rows and columns have other places now."""
    op, host = ctx.op, ctx.resources
    shape = ctx.attrs["num_rows"], ctx.attrs["num_cols"]

    def load(path: Any, name: Any, rows: Any, columns: Any, initial: Any) -> Any:
        with CheckpointReader(host.files.prefix(_text(op, path)), host.files) as reader:
            old = np.asarray(reader.get_tensor(_text(op, name)))
        if old.ndim != 2 or old.dtype != np.float32:
            raise InvalidArgumentError(f"{op}: a float32 matrix is loaded, got {old.dtype} of shape {list(old.shape)}")
        if not columns.size:
            columns = np.arange(shape[1])
        if rows.shape != shape[:1] or columns.shape != shape[1:]:
            raise InvalidArgumentError(
                f"{op}: {shape[0]} rows and {shape[1]} columns are needed, got {len(rows)} and {len(columns)}"
            )
        for what, places, limit in (("row", rows, len(old)), ("column", columns, old.shape[1])):
            kept = places[places >= 0]
            if len(np.unique(kept)) < len(kept) or (kept >= limit).any():
                raise InvalidArgumentError(
                    f"{op}: an old {what} below {limit} is used once at most, got {places.tolist()}"
                )
        fresh = (rows[:, None] < 0) | (columns < 0)
        if fresh.sum() != initial.size:
            raise InvalidArgumentError(
                f"{op}: {fresh.sum()} values have no old place, got {initial.size} initializing_values"
            )
        out = np.empty(shape, np.float32)
        out[~fresh] = old[np.ix_(rows[rows >= 0], columns[columns >= 0])].reshape(-1)
        out[fresh] = initial.reshape(-1)
        return out

    return load


op("LoadAndRemapMatrix", _loaded, kernel=_load_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)


def _filename(basename: Any, shard: Any, num_shards: Any) -> bytes:
    prefix = _text("ShardedFilename", basename)
    return checkpoints.sharded_name(prefix, int(shard), int(num_shards)).encode()


def _filespec(basename: Any, num_shards: Any) -> bytes:
    return checkpoints.filespec(_text("ShardedFilespec", basename), int(num_shards)).encode()


def _merge_kernel(ctx: KernelContext) -> Kernel:
    op, delete_old_dirs, host = ctx.op, bool(ctx.attrs["delete_old_dirs"]), ctx.resources

    def merge(prefixes: Any, destination: Any) -> None:
        files = host.files
        sources = [files.prefix(text) for text in _texts(op, prefixes)]
        target = files.prefix(_text(op, destination))
        bundles = checkpoints.are_bundles(sources, files)
        join = checkpoints.merge_bundles if bundles else checkpoints.merge
        join(sources, target, delete_old_dirs, files)

    return merge


op("SaveV2", _saved, kernel=_save_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)
op("RestoreV2", _restored_shapes, kernel=_restore_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)
for _name in ("Save", "SaveSlices"):
    op(_name, _saved, kernel=_oldest_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)
for _name in ("Restore", "RestoreSlice"):
    op(_name, _restored_shape, kernel=_restore_one_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)
op("ShardedFilespec", checked(scalar, 0, 0), _filespec, NOT_DIFFERENTIABLE)
op("ShardedFilename", checked(scalar, 0, 0, 0), _filename, NOT_DIFFERENTIABLE)
op(
    "MergeV2Checkpoints",
    checked(no_outputs, 1, 0),
    kernel=_merge_kernel,
    grad=NOT_DIFFERENTIABLE,
    blocks=True,
    opens_files=True,
)
