"""TensorFlow's operation types: names and types of inputs, outputs and attributes.

``signatures.txt`` has a line per type, as TensorFlow 2.21 registers it::

    Sum input:T reduction_indices:Tidx -> output:T | keep_dims:bool=false T:type Tidx:type=int32

``*N`` is a list whose length is attribute ``N``, ``[T]`` is a list whose types are the list attribute ``T``,
and ``&`` marks a reference. Exports use the signatures to write the attributes that this library derives and
TensorFlow requires. Imports check files against them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass

__all__ = [
    "FROM_HANDLE", "GRAPH_DEF_VERSION", "PRIVATE", "REQUIRED", "Arg", "Attr", "Signature", "bind",
    "signature_of",
]  # fmt: skip

# The version of ``VersionDef`` in TensorFlow 2.21.
GRAPH_DEF_VERSION = 2474

# The prefix of attributes that only this library has. TensorFlow keeps such attributes and never reads them.
PRIVATE = "_acts_"
# Attributes that operations on variables derive from their handle here; TensorFlow's operations have only
# some of them.
FROM_HANDLE = ("dtype", "shape")

# An attribute that has no default.
REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Arg:
    """An input or output.

    Attributes:
        name: its name.
        type: name of the attribute that holds the type, or of a type.
        number: name of the attribute that holds the number of values; empty for a single value.
        is_list: whether ``type`` is an attribute with a list of types.
        is_ref: whether it is a reference.
    """

    name: str
    type: str
    number: str = ""
    is_list: bool = False
    is_ref: bool = False


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute: its name, its type by TensorFlow's name, and its default."""

    name: str
    type: str
    default: Any = REQUIRED


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs, outputs and attributes of an operation type."""

    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: Mapping[str, Attr]


@functools.cache
def _lines() -> Mapping[str, str]:
    text = Path(__file__).with_name("signatures.txt").read_text("ascii")
    return {line.split(" ", 1)[0]: line for line in text.splitlines()}


@functools.cache
def signature_of(op: str) -> Signature | None:
    """Return the signature of an operation type, if TensorFlow has it."""
    line = _lines().get(op)
    if line is None:
        return None
    args, _, attrs = line.partition(" | ")
    inputs, _, outputs = args.partition(" ->")
    found = [_attr(word) for word in attrs.split()]
    return Signature(
        tuple([_arg(word) for word in inputs.split()[1:]]),
        tuple([_arg(word) for word in outputs.split()]),
        {attr.name: attr for attr in found},
    )


def _arg(word: str) -> Arg:
    name, _, kind = word.partition(":")
    is_ref = kind.endswith("&")
    kind, _, number = kind.rstrip("&").partition("*")
    return Arg(name, kind.strip("[]"), number, kind.startswith("["), is_ref)


def _attr(word: str) -> Attr:
    left, equals, default = word.partition("=")
    name, _, kind = left.partition(":")
    return Attr(name, kind, _default(kind, default) if equals else REQUIRED)


def _default(kind: str, word: str) -> Any:
    if kind.startswith("list("):
        return tuple([_default(kind[5:-1], item) for item in word[1:-1].split(",") if item])
    if kind == "int":
        return int(word)
    if kind == "float":
        return float(word)
    if kind == "bool":
        return word == "true"
    if kind == "type":
        return _known_type(word) or word
    if kind == "shape":
        sizes = word[1:-1].split(",")
        return TensorShape(None if word == "?" else [int(size) for size in sizes if size])
    return word.strip('"')


def _known_type(name: str) -> DType | None:
    try:
        return as_dtype(name)
    except TypeError:
        return None


# -- types and counts ----------------------------------------------------------------------------


def bind(
    args: Sequence[Arg],
    dtypes: Sequence[DType],
    known: Mapping[str, Any],
    attrs: Mapping[str, Attr],
) -> dict[str, Any] | None:
    """Return the attributes that follow from the types of a node's inputs or outputs.

    Args:
        args: the inputs or outputs of the signature.
        dtypes: the types of the node's inputs or outputs.
        known: attributes whose values are given.
        attrs: the attributes of the signature.

    Returns:
        Attributes by name; ``None`` if the number of values does not fit the signature.
    """
    counts = _counts(args, len(dtypes), known)
    if counts is None:
        return None
    bound: dict[str, Any] = {}
    at = 0
    for arg, count in zip(args, counts, strict=True):
        taken = dtypes[at : at + count]
        at += count
        if arg.number:
            bound[arg.number] = count
        if arg.is_list:
            bound[arg.type] = tuple(taken)
        elif arg.type in attrs and taken:
            bound[arg.type] = taken[0]
    return bound if at == len(dtypes) else None


def _counts(args: Sequence[Arg], total: int, known: Mapping[str, Any]) -> list[int] | None:
    """Return the number of values of each argument.

    Arguments whose number is not given share the remaining values equally.
    """
    fixed: list[int | None] = []
    for arg in args:
        key = arg.number or (arg.type if arg.is_list else "")
        value = known.get(key) if key else 1
        fixed.append(len(value) if isinstance(value, (tuple, list)) else value)
    share = fixed.count(None)
    rest = total - sum(count for count in fixed if count is not None)
    if share == 0:
        return [count or 0 for count in fixed]
    counted = {arg.number for arg, count in zip(args, fixed, strict=True) if count is None}
    if rest < 0 or rest % share or len(counted - {""}) > 1:
        return None
    return [rest // share if count is None else count for count in fixed]
