"""Ops that save and restore tensors: ``SaveV2``, ``RestoreV2`` and the ops that merge shards.

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
from actorsession.checkpoints.safetensors import SUFFIX
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, int32, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    Array,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.build import convert_to_tensor, graph_of, make, make_one

__all__ = ["merge_v2_checkpoints", "restore_v2", "save_v2", "sharded_filename"]


# -- nodes -----------------------------------------------------------------------------------------


def save_v2(
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Any],
    name: str | None = None,
) -> Operation:
    """Write tensors to a new checkpoint atomically.

    Args:
        prefix: prefix of the checkpoint's file, a string; missing folders are made.
        tensor_names: a name for each tensor, a string vector.
        shape_and_slices: for each tensor the shape of a larger tensor and its slice of that tensor, as in
            ``"5 4 2,2:-"``; empty for a whole tensor.
        tensors: the tensors to save, of any dtype but ``resource``.
        name: wanted name.

    Raises:
        TypeError: for other dtypes.
        ValueError: if the three do not have one length.
    """
    values = [convert_to_tensor(t) for t in tensors]
    graph = graph_of(prefix, *values)
    with graph.name_scope(name or "SaveV2") as scope:
        inputs = _addressed(prefix, tensor_names, shape_and_slices, graph)
        attrs = {"dtypes": [t.dtype for t in values]}
        return make("SaveV2", [*inputs, *values], attrs, scope, graph)


def restore_v2(
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    dtypes: Sequence[Any],
    name: str | None = None,
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
    graph = graph_of(prefix)
    with graph.name_scope(name or "RestoreV2") as scope:
        inputs = _addressed(prefix, tensor_names, shape_and_slices, graph)
        attrs = {"dtypes": [as_dtype(t) for t in dtypes]}
        return list(make("RestoreV2", inputs, attrs, scope, graph).outputs)


def sharded_filename(basename: Any, shard: Any, num_shards: Any, name: str | None = None) -> Tensor:
    """Return the prefix of one shard of a checkpoint: ``basename-00000-of-00002``.

    Args:
        basename: prefix of the whole checkpoint, a string.
        shard: number of the shard, int32.
        num_shards: number of shards, int32.
        name: wanted name.
    """
    graph = graph_of(basename, shard, num_shards)
    with graph.name_scope(name or "ShardedFilename") as scope:
        inputs = [
            convert_to_tensor(basename, string, "basename", graph=graph),
            convert_to_tensor(shard, int32, "shard", graph=graph),
            convert_to_tensor(num_shards, int32, "num_shards", graph=graph),
        ]
        return make_one("ShardedFilename", inputs, None, scope, graph)


def merge_v2_checkpoints(
    checkpoint_prefixes: Any,
    destination_prefix: Any,
    delete_old_dirs: bool = True,
    name: str | None = None,
) -> Operation:
    """Merge shards into one checkpoint by moving their files, all of which this op must be able to access.

    Args:
        checkpoint_prefixes: prefixes of the shards, a string vector.
        destination_prefix: prefix of the merged checkpoint, a string.
        delete_old_dirs: whether folders that become empty are removed.
        name: wanted name.
    """
    graph = graph_of(checkpoint_prefixes, destination_prefix)
    with graph.name_scope(name or "MergeV2Checkpoints") as scope:
        inputs = [
            convert_to_tensor(checkpoint_prefixes, string, "checkpoint_prefixes", graph=graph),
            convert_to_tensor(destination_prefix, string, "destination_prefix", graph=graph),
        ]
        attrs = {"delete_old_dirs": bool(delete_old_dirs)}
        return make("MergeV2Checkpoints", inputs, attrs, scope, graph)


def _addressed(prefix: Any, names: Any, slices: Any, graph: Any) -> list[Tensor]:
    return [
        convert_to_tensor(prefix, string, "prefix", graph=graph),
        convert_to_tensor(names, string, "tensor_names", graph=graph),
        convert_to_tensor(slices, string, "shape_and_slices", graph=graph),
    ]


# -- static types ----------------------------------------------------------------------------------


def _check_strings(ctx: InferContext, ranks: Sequence[int]) -> None:
    """Check that the first inputs are strings of these ranks."""
    for i, rank in enumerate(ranks):
        found = ctx.inputs[i]
        if found.dtype is not string:
            raise TypeError(f"{ctx.op} takes a string as input {i}, got {found.dtype.name}")
        if found.shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op} takes rank {rank} as input {i}, got shape {found.shape}")


def _check_addressed(ctx: InferContext) -> list[DType]:
    """Check the first inputs, and return the dtypes of the tensors that are saved or restored."""
    _check_strings(ctx, (0, 1, 1))
    dtypes = [as_dtype(t) for t in ctx.attrs["dtypes"]]
    for dtype in dtypes:
        if dtype.kind == "r":
            raise TypeError(f"{ctx.op} takes numbers and strings; a resource is neither")
    for i, what in ((1, "tensor_names"), (2, "shape_and_slices")):
        count = ctx.inputs[i].shape.num_elements()
        if count not in (None, len(dtypes)):
            raise ValueError(f"{ctx.op} has {len(dtypes)} tensors and {count} {what}")
    return dtypes


def _infer_save(ctx: InferContext) -> list[TensorSpec]:
    dtypes, found = _check_addressed(ctx), [spec.dtype for spec in ctx.inputs[3:]]
    if found != dtypes:
        wanted, got = (", ".join(t.name for t in some) for some in (dtypes, found))
        raise TypeError(f"{ctx.op} says that it saves {wanted}; its inputs are {got}")
    return []


def _infer_restore(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(dtype, TensorShape(None)) for dtype in _check_addressed(ctx)]


def _infer_filename(ctx: InferContext) -> list[TensorSpec]:
    _check_strings(ctx, (0,))
    for i in (1, 2):
        found = ctx.inputs[i]
        if found.dtype is not int32:
            raise TypeError(f"{ctx.op} takes int32 as input {i}, got {found.dtype.name}")
        if found.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op} takes a scalar as input {i}, got shape {found.shape}")
    return [TensorSpec(string, scalar_shape)]


def _infer_merge(ctx: InferContext) -> list[TensorSpec]:
    _check_strings(ctx, (1, 0))
    return []


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
    found = _texts(op, names), _texts(op, slices)
    for what, texts in zip(("tensor_names", "shape_and_slices"), found, strict=True):
        if len(texts) != count:
            raise InvalidArgumentError(f"{op} has {count} tensors and {len(texts)} {what}")
    return found


def _save_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def save(prefix: Any, names: Any, slices: Any, *values: Any) -> None:
        chosen, specs = _lists(op, len(values), names, slices)
        # A string scalar is plain bytes, which numpy would convert to a fixed-length string type.
        arrays = [np.array(v, object) if isinstance(v, (bytes, str)) else v for v in values]
        checkpoints.save(host.files.prefix(_text(op, prefix)), chosen, specs, arrays)

    return save


def _restore_kernel(ctx: KernelContext) -> Kernel:
    op, outputs, host = ctx.op, ctx.outputs, ctx.resources

    def restore(prefix: Any, names: Any, slices: Any) -> Any:
        chosen, specs = _lists(op, len(outputs), names, slices)
        path = _text(op, prefix)
        with CheckpointReader(host.files.prefix(path), host.files.opener) as reader:
            found = tuple(
                _restored(reader, path, name, spec, wanted)
                for name, spec, wanted in zip(chosen, specs, outputs, strict=True)
            )
        return found if len(found) != 1 else found[0]

    return restore


def _restored(
    reader: CheckpointReader, path: str, name: str, spec: str, wanted: TensorSpec
) -> Array | Any:
    """Return one tensor of a checkpoint, after a check of its dtype and shape."""
    part = checkpoints.parse_spec(spec)
    entry = reader.entry(name)
    if entry.dtype is not wanted.dtype:
        raise InvalidArgumentError(
            f"{name!r} is {entry.stored} in the checkpoint {path!r}; {wanted.dtype.name} is wanted here"
        )
    shape = entry.shape if part is None else part[1].sizes
    if not wanted.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"{name!r} has shape {list(shape)} in the checkpoint {path!r}; shape {wanted.shape} is "
            "wanted here"
        )
    return reader.read(name, part)[()]


def _filename_kernel(ctx: KernelContext) -> Kernel:
    op = ctx.op

    def filename(basename: Any, shard: Any, num_shards: Any) -> bytes:
        return checkpoints.sharded_name(_text(op, basename), int(shard), int(num_shards)).encode()

    return filename


def _merge_kernel(ctx: KernelContext) -> Kernel:
    op, delete_old_dirs, host = ctx.op, bool(ctx.attrs["delete_old_dirs"]), ctx.resources

    def merge(prefixes: Any, destination: Any) -> None:
        files = host.files
        sources = [files.prefix(text) for text in _texts(op, prefixes)]
        target = files.prefix(_text(op, destination))
        for source in sources:
            files.real(source + SUFFIX)  # the path may be a link that leads outside
        checkpoints.merge(sources, target, delete_old_dirs)

    return merge


# -- registration ----------------------------------------------------------------------------------

register(
    OpDef(
        name="SaveV2",
        infer=_infer_save,
        kernel=_save_kernel,
        gradient=NOT_DIFFERENTIABLE,
        blocks=True,
        opens_files=True,
    )
)

register(
    OpDef(
        name="RestoreV2",
        infer=_infer_restore,
        kernel=_restore_kernel,
        gradient=NOT_DIFFERENTIABLE,
        blocks=True,
        opens_files=True,
    )
)

register(
    OpDef(
        name="ShardedFilename",
        infer=_infer_filename,
        kernel=_filename_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)

register(
    OpDef(
        name="MergeV2Checkpoints",
        infer=_infer_merge,
        kernel=_merge_kernel,
        gradient=NOT_DIFFERENTIABLE,
        blocks=True,
        opens_files=True,
    )
)
