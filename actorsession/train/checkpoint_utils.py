"""Inspection of checkpoints without a session, and initialisation of variables from a checkpoint.

Owns the functions of ``tf.train`` for that: readers by folder or prefix, lists of tensors, and
``init_from_checkpoint``, which replaces the initialisers of variables. Files are read in the calling process,
except by the nodes that ``init_from_checkpoint`` makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actorsession.checkpoints import CheckpointReader, write_spec
from actorsession.config.file_roots import path_text
from actorsession.graph.graph import get_default_graph
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.checkpointing import restore_v2
from actorsession.train.checkpoint_state import latest_checkpoint
from actorsession.train.saveable import slice_info
from transports.host import current_host

__all__ = ["NewCheckpointReader", "init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable"]


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return a reader of a checkpoint, in our format or in TensorFlow's.

    Args:
        filepattern: prefix of its files, as returned by ``Saver.save``.

    Raises:
        NotFoundError: if there is no such checkpoint.
        DataLossError: if it is damaged.
    """
    return CheckpointReader(filepattern)


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Return a reader of a checkpoint, or of the latest one in a folder.

    Args:
        ckpt_dir_or_file: a prefix or a folder.

    Raises:
        ValueError: if the folder has no checkpoint.
        NotFoundError: if there is no such checkpoint.
        DataLossError: if it is damaged.
    """
    return CheckpointReader(_prefix(ckpt_dir_or_file))


def _prefix(folder_or_prefix: Any) -> str:
    path = path_text(folder_or_prefix)
    if not current_host().files.isdir(path):
        return path
    checkpoint = latest_checkpoint(path)
    if checkpoint is None:
        raise ValueError(f"the folder {path!r} has no checkpoint, or no 'checkpoint' file that lists one")
    return checkpoint


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """Return the value of one tensor of a checkpoint.

    Args:
        ckpt_dir_or_file: a prefix, or a folder whose latest checkpoint is used.
        name: name of the tensor; a trailing ``:0`` is ignored.

    Returns:
        A new array; a numpy scalar or bytes for rank 0.

    Raises:
        NotFoundError: if there is no such checkpoint, or no such tensor in it.
        ValueError: as for ``load_checkpoint``.
        DataLossError: likewise.
    """
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return reader.get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Return name and shape of each tensor of a checkpoint, ordered by name.

    Args:
        ckpt_dir_or_file: a prefix, or a folder whose latest checkpoint is used.

    Raises:
        NotFoundError: as for ``load_checkpoint``.
        ValueError: likewise.
        DataLossError: likewise.
    """
    with load_checkpoint(ckpt_dir_or_file) as reader:
        return sorted(reader.get_variable_to_shape_map().items())


# -- first values ----------------------------------------------------------------------------------


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Replace initialisers of variables by ones that read a checkpoint when they run.

    Args:
        ckpt_dir_or_file: a prefix, or a folder whose latest checkpoint is used.
        assignment_map: a dict or pairs, from names in the checkpoint to variables of the default graph: a
            variable, its name, a partitioned variable or the list of its parts. A name that ends in a slash
            stands for all names below it and maps to another such name; ``/`` alone stands for all names.

    Raises:
        ValueError: if a tensor or variable does not exist, their shapes differ, or a name that ends in a
            slash does not map to another such name.
        NotFoundError: if there is no such checkpoint.
        DataLossError: if it is damaged.
    """
    prefix = _prefix(ckpt_dir_or_file)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    with CheckpointReader(prefix) as reader:
        shapes = reader.get_variable_to_shape_map()
    known = _variables_by_name()
    chosen: list[tuple[str, list[Any]]] = []
    for source, target in pairs:
        chosen += _assignments(source, target, shapes, known)
    for source, parts in chosen:
        if source not in shapes:
            raise ValueError(f"the checkpoint {prefix!r} has no tensor {source!r}")
        _check_shape(source, shapes[source], parts)
    for source, parts in chosen:
        for part in parts:
            _start_from(prefix, source, part)


def _variables_by_name() -> dict[str, list[Any]]:
    """Return the variables of the default graph by name, parts of a variable under the name of the whole."""
    graph = get_default_graph()
    by_name: dict[str, list[Any]] = {}
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in graph.get_collection(key):
            info = slice_info(variable)
            name = variable.op.name if info is None else info.full_name
            parts = by_name.setdefault(name, [])
            if variable not in parts:
                parts.append(variable)
    return by_name


def _assignments(
    source: str, target: Any, shapes: Mapping[str, Any], known: Mapping[str, list[Any]]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield each tensor name of the checkpoint with the variable, or its parts, to initialise from it."""
    if isinstance(target, str) and (target.endswith("/") or source.endswith("/")):
        yield from _scope_assignments(source, target, shapes, known)
    elif isinstance(target, str):
        if target not in known:
            raise ValueError(f"the graph has no variable {target!r}, to which {source!r} is assigned")
        yield source, known[target]
    elif hasattr(target, "_get_variable_list"):
        yield source, target._get_variable_list()
    else:
        yield source, list(target) if isinstance(target, (list, tuple)) else [target]


def _scope_assignments(
    source: str, target: str, shapes: Mapping[str, Any], known: Mapping[str, list[Any]]
) -> Iterator[tuple[str, list[Any]]]:
    if not (source.endswith("/") and target.endswith("/")):
        raise ValueError(
            f"a scope can only be assigned to a scope, as in {{'old/': 'new/'}}; got {source!r} to {target!r}"
        )
    below, inside = source.removeprefix("/"), target.removeprefix("/")
    names = [name for name in known if name.startswith(inside)]
    if not names:
        raise ValueError(f"the graph has no variables in {target!r}, to which {source!r} is assigned")
    for name in names:
        stored = below + name[len(inside) :]
        if stored not in shapes:
            raise ValueError(f"the checkpoint has no tensor {stored!r} for the variable {name!r} in {target!r}")
        yield stored, known[name]


def _check_shape(source: str, shape: Sequence[int], parts: Sequence[Any]) -> None:
    info = slice_info(parts[0])
    expected = parts[0].shape if info is None else TensorShape(info.full_shape)
    if not expected.is_compatible_with(tuple(shape)):
        raise ValueError(
            f"the variable {parts[0].op.name!r} has shape {expected}, but the tensor "
            f"{source!r} of the checkpoint has {list(shape)}"
        )


def _start_from(prefix: str, source: str, variable: Any) -> None:
    """Replace a variable's initialiser by one that reads the checkpoint."""
    info = slice_info(variable)
    spec = "" if info is None else write_spec(info.full_shape, info.var_offset, info.var_shape)
    graph = variable.graph
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope("init_from_checkpoint"),
        # The file is read on the variable's device, so that its value is not transferred.
        graph.colocate_with(variable.op),
    ):
        [value] = restore_v2(prefix, [source], [spec], [variable.dtype], name="checkpoint_initializer")
        value.set_shape(variable.shape)
        _begin_with(variable, value)


def start_from_value(variable: Any, value: Any) -> None:
    """Replace a variable's initialiser by one that assigns another value.

    Args:
        variable: the variable.
        value: a tensor, or what can be made one.
    """
    graph = variable.graph
    with graph.as_default(), graph.control_dependencies(None):
        _begin_with(variable, convert_to_tensor(value, variable.dtype.base_dtype))


def _begin_with(variable: Any, value: Any) -> None:
    variable._initializer = variable.assign(value, read_value=False)
    variable._initial_value = value
