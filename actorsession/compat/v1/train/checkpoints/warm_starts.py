"""``tf.train.warm_start``: variables begin with the values of a checkpoint, even of another vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.config.file_roots import path_text
from actorsession.graph.graph import name_scope
from actorsession.ops import GraphKeys
from actorsession.train import init_from_checkpoint, load_variable
from actorsession.train.checkpoint_utils import start_from_value

__all__ = ["VocabInfo", "WarmStartSettings", "warm_start"]


class VocabInfo(NamedTuple):
    """The vocabularies of a variable now and in the checkpoint, one row (or column) for each word.

    Attributes:
        new_vocab: path of the file with the words now, one a line.
        new_vocab_size: how many of them there are.
        num_oov_buckets: rows for unknown words, behind those.
        old_vocab: path of the file with the words of the checkpoint.
        old_vocab_size: how many of them count; all for -1.
        backup_initializer: makes the values of words that the checkpoint does not have; zeros if omitted.
        axis: 0 where words are rows, 1 where they are columns.
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


class WarmStartSettings(NamedTuple):
    """The arguments of ``warm_start`` for an estimator.

    Attributes:
        ckpt_to_initialize_from: the checkpoint, or its folder.
        vars_to_warm_start: which variables.
        var_name_to_vocab_info: vocabularies by name of variable.
        var_name_to_prev_var_name: names in the checkpoint by name of variable.
    """

    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Let variables of the default graph begin with the values of a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or its folder.
        vars_to_warm_start: a regular expression for names of trainable variables; a list of expressions for
            names of all variables, or of variables; ``None`` for those with a vocabulary alone.
        var_name_to_vocab_info: vocabularies by name of variable.
        var_name_to_prev_var_name: names in the checkpoint by name of variable.

    Raises:
        ValueError: if the checkpoint has no such variable, or one of another shape, or a name fits nothing.
        NotFoundError: if there is no such checkpoint.
    """
    source = path_text(ckpt_to_initialize_from)
    vocabularies = dict(var_name_to_vocab_info or {})
    former = dict(var_name_to_prev_var_name or {})
    chosen = _chosen(vars_to_warm_start)
    every = {v.op.name: [v] for v in get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)}
    for name in vocabularies:
        if name not in chosen and name in every:
            chosen[name] = every[name]
    unknown = (former.keys() | vocabularies.keys()) - chosen.keys()
    if unknown:
        raise ValueError(
            f"the names {sorted(unknown)} are of no variable that is to begin with the checkpoint; those "
            f"are {sorted(chosen)}"
        )
    plain: dict[str, Any] = {}
    for name, parts in chosen.items():
        there = former.get(name, name)
        if name in vocabularies:
            value = _remapped(load_variable(source, there), vocabularies[name], parts[0])
            start_from_value(parts[0], value)
        else:
            plain[there] = parts if len(parts) > 1 else parts[0]
    if plain:
        init_from_checkpoint(source, plain)


def _chosen(selection: Any) -> dict[str, list[Any]]:
    """Return the variables that are to be set by name, parts of one variable together."""
    graph = get_default_graph()
    if selection is None:
        return {}
    if isinstance(selection, str):
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=selection)
    elif all(isinstance(item, str) for item in selection):
        variables = [
            variable
            for pattern in selection
            for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=pattern)
        ]
    else:
        variables = list(selection)
    by_name: dict[str, list[Any]] = {}
    for variable in variables:
        info = getattr(variable, "_save_slice_info", None)
        parts = by_name.setdefault(variable.op.name if info is None else info.full_name, [])
        if not any(variable is part for part in parts):
            parts.append(variable)
    return by_name


def _remapped(old: Any, info: VocabInfo, variable: Any) -> Any:
    """Return the value of a variable whose rows, or columns, are those of the same words before."""
    shape = tuple(variable.shape.as_list())
    value = np.zeros(shape, old.dtype)
    if info.backup_initializer is not None:
        with name_scope("backup"):
            first = info.backup_initializer(list(shape), dtype=variable.dtype.base_dtype)
        # A value that is drawn is drawn when the variable is initialised.
        known = _rows(info)
        if any(there is None for there in known) or info.num_oov_buckets:
            keep = np.array([there is not None for there in known] + [False] * info.num_oov_buckets)
            mask = keep[:, None] if info.axis == 0 else keep[None, :]
            return ops.where(np.broadcast_to(mask, shape), _placed(value, old, info), first)
    return _placed(value, old, info)


def _rows(info: VocabInfo) -> list[int | None]:
    """Return the place of each word before, or ``None``."""
    before = _words(info.old_vocab)
    if info.old_vocab_size >= 0:
        before = before[: info.old_vocab_size]
    places = {word: place for place, word in enumerate(before)}
    return [places.get(word) for word in _words(info.new_vocab)[: info.new_vocab_size]]


def _placed(value: Any, old: Any, info: VocabInfo) -> Any:
    for place, there in enumerate(_rows(info)):
        if there is not None and info.axis == 0:
            value[place] = old[there]
        elif there is not None:
            value[:, place] = old[:, there]
    return value


def _words(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().splitlines()
