"""The nodes of a saver, which write a checkpoint or read one into the variables.

Owns their layout and names, which are TensorFlow's: a saver described by the names of its nodes
(``SaverDef``) works on any copy of the graph. ``saver`` calls ``build_saver`` once per saver.

Everything is read before anything is assigned: a checkpoint that is damaged or does not fit leaves all
variables unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from actorsession.graph.device import DeviceSpec
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.placeholder import placeholder_with_default
from actorsession.ops.build import constant
from actorsession.ops.flow.control import group, with_dependencies
from actorsession.ops.variables.checkpointing import (
    merge_v2_checkpoints,
    restore_v2,
    save_slices,
    save_v2,
    sharded_filename,
    sharded_filespec,
)
from actorsession.records import dataclass
from actorsession.train.saveable import SaveableObject

__all__ = ["SaverDef", "basename_of", "build_saver"]


@dataclass(frozen=True, slots=True)
class SaverDef:
    """The description of a saver: the names of its nodes, and how many checkpoints it keeps.

    Attributes:
        filename_tensor_name: the tensor that is fed with the prefix.
        save_tensor_name: the tensor that is fetched to save; its value is the prefix.
        restore_op_name: the operation that is run to restore.
        max_to_keep: number of checkpoints to keep; 0 for all.
        sharded: whether each device writes its own file.
        keep_checkpoint_every_n_hours: interval in hours at which a checkpoint is kept permanently.
        version: version of TensorFlow's format: 2, or 1 for the oldest one.
    """

    filename_tensor_name: str = ""
    save_tensor_name: str = ""
    restore_op_name: str = ""
    max_to_keep: int = 0
    sharded: bool = False
    keep_checkpoint_every_n_hours: float = 0.0
    version: int = 2

    V1 = 1
    V2 = 2

    @classmethod
    def of(cls, value: Any) -> SaverDef:
        """Return the ``SaverDef`` of an object with its attributes, such as TensorFlow's message.

        Raises:
            ValueError: if an attribute is missing, or it names no nodes.
        """
        try:
            definition = (
                value
                if isinstance(value, cls)
                else cls(
                    str(value.filename_tensor_name),
                    str(value.save_tensor_name),
                    str(value.restore_op_name),
                    int(value.max_to_keep),
                    bool(value.sharded),
                    float(value.keep_checkpoint_every_n_hours),
                    1 if getattr(value, "version", 2) == 1 else 2,
                )
            )
        except AttributeError as exc:
            raise ValueError(f"saver_def must be a SaverDef, got {value!r:.100}: {exc}") from None
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(definition, field):
                raise ValueError(f"saver_def must specify the {field}: {definition!r}")
        return definition


def build_saver(
    graph: Graph,
    saveables: Sequence[SaveableObject],
    name: str | None,
    filename: str | None,
    *,
    sharded: bool,
    reshape: bool,
    restore_sequentially: bool,
    bundle: bool = False,
    version: int = SaverDef.V2,
) -> SaverDef:
    """Add the nodes of a saver to a graph.

    Args:
        graph: graph of the saveables.
        saveables: the objects to save, at least one.
        name: wanted name of the scope around the nodes.
        filename: prefix used when the nodes are run without a feed.
        sharded: whether each device writes its own file.
        reshape: whether restored tensors are reshaped to the shapes of the variables.
        restore_sequentially: whether variables are assigned one after the other.
        bundle: whether TensorFlow's format is written.
        version: which one of TensorFlow's formats; see ``SaverDef``.

    Returns:
        The names of the nodes; the numbers of checkpoints to keep are not set.
    """
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(name or "save"):
        with graph.name_scope("filename") as scope:
            name_input = constant(filename or "model", name="input")
            default = placeholder_with_default(name_input, (), name=scope)
        prefix = placeholder_with_default(default, (), name="Const")
        groups = _by_device(saveables) if sharded else [("", list(saveables))]
        if version == SaverDef.V1:
            saved = _save_oldest(prefix, groups, sharded)
        elif sharded:
            saved = _save_shards(prefix, groups, bundle)
        else:
            saved = _save(prefix, saveables, bundle)
        restored = _restore_all(prefix, groups, reshape, restore_sequentially)
    return SaverDef(prefix.name, saved.name, restored.name, sharded=sharded, version=version)


def _save(prefix: Tensor, saveables: Sequence[SaveableObject], bundle: bool) -> Tensor:
    specs = [spec for saveable in saveables for spec in saveable.specs]
    written = save_v2(
        prefix,
        [spec.name for spec in specs],
        [spec.slice_spec for spec in specs],
        [spec.tensor for spec in specs],
        bundle=bundle,
    )
    with prefix.graph.control_dependencies([written]):
        return raw.Identity(prefix, name="control_dependency")


def _save_oldest(prefix: Tensor, groups: Sequence[tuple[str, list[SaveableObject]]], sharded: bool) -> Tensor:
    """Return the path of a checkpoint in TensorFlow's first format, or the pattern of its shards' paths."""
    graph, written = prefix.graph, []
    count = constant(len(groups), name="num_shards") if sharded else None
    if sharded:
        prefix = placeholder_with_default(prefix, (), name="basename")
    for number, (device, saveables) in enumerate(groups):
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with graph.device(device or None):
            path = prefix if count is None else sharded_filename(prefix, number, count)
            written.append(
                save_slices(
                    path,
                    [spec.name for spec in specs],
                    [spec.slice_spec for spec in specs],
                    [spec.tensor for spec in specs],
                )
            )
    with graph.control_dependencies(written):
        if count is not None:
            return sharded_filespec(prefix, count)
        return raw.Identity(prefix, name="control_dependency")


def basename_of(filename: Tensor) -> Tensor | None:
    """Return the tensor with the common prefix of the shard names of a saver; ``None`` if it has no shards.

    Feeding it gives the shards of each save their own names; otherwise it equals the file name.
    """
    defaults = [op for op in filename.consumers() if op.type == "PlaceholderWithDefault"]
    return defaults[0].outputs[0] if defaults else None


def _save_shards(prefix: Tensor, groups: Sequence[tuple[str, list[SaveableObject]]], bundle: bool) -> Tensor:
    graph = prefix.graph
    basename = placeholder_with_default(prefix, (), name="basename")
    count = constant(len(groups), name="num_shards")
    shards = []
    for number, (device, saveables) in enumerate(groups):
        with graph.device(device or None):
            shards.append(_save(sharded_filename(basename, number, count), saveables, bundle))
    # On the device that wrote the last shard, as in TensorFlow; its task must see the files of all shards.
    with graph.device(groups[-1][0] or None):
        with graph.control_dependencies(shards):
            merged = merge_v2_checkpoints(stack(shards), prefix)
        return with_dependencies([merged, *shards], prefix, "Identity")


def _restore_all(
    prefix: Tensor, groups: Sequence[tuple[str, list[SaveableObject]]], reshape: bool, sequentially: bool
) -> Operation:
    graph = prefix.graph
    read: list[tuple[SaveableObject, list[Tensor]]] = []
    for device, saveables in groups:
        with graph.device(device or "/device:CPU:0"):
            read += zip(saveables, _restore(prefix, saveables, reshape), strict=True)
    # Each reading operation once: any error in reading precedes all assignments.
    readers = list(dict.fromkeys(tensor.op for _, tensors in read for tensor in tensors))
    assigned: list[Operation] = []
    for saveable, tensors in read:
        before = [*readers, *(assigned[-1:] if sequentially else ())]
        with graph.control_dependencies(before):
            shapes = saveable.wanted_shapes() if reshape else None
            assigned.append(saveable.restore(tensors, shapes))
    return group(*assigned, name="restore_all")


def _restore(prefix: Tensor, saveables: Sequence[SaveableObject], reshape: bool) -> list[list[Tensor]]:
    """Return for each saveable its tensors as they are read."""
    specs = [spec for saveable in saveables for spec in saveable.specs]
    read = restore_v2(
        prefix, [spec.name for spec in specs], [spec.slice_spec for spec in specs], [spec.dtype for spec in specs]
    )
    tensors, position = [], 0
    for saveable in saveables:
        own = read[position : position + len(saveable.specs)]
        position += len(own)
        if not reshape:
            for tensor, shape in zip(own, saveable.wanted_shapes(), strict=True):
                if shape is not None:
                    tensor.set_shape(shape)
        tensors.append(own)
    return tensors


def _by_device(saveables: Sequence[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    """Group saveables by the device that writes them: the first CPU of the task that has their tensors."""
    groups: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        groups.setdefault(_writer(saveable.device), []).append(saveable)
    return sorted(groups.items())


def _writer(device: Any) -> str:
    """Return the device that writes the tensors of a device: CPU 0 of its task."""
    spec = DeviceSpec.parse(device or "")
    if spec == DeviceSpec():
        return ""
    return str(replace(spec, device_type="CPU", device_index=0))
