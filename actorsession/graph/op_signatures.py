"""The table of operation types: names and types of inputs and outputs, attributes, statefulness, opset.

``op_signatures.txt`` has a row per operation type, under the name of its opset::

    [reductions]
    Sum input:T reduction_indices:Tidx -> output:T | keep_dims:bool=false T:type{iufc} Tidx:type=int32

The first two parts are as TensorFlow 2.21 registers the type. ``*N`` after a type is a list whose length is
attribute ``N``, ``[T]`` is a list whose types are the list attribute ``T``, and ``&`` marks a reference. In
braces stand the element types that this library accepts: kinds (see ``DType.kind``), or names with commas.
Inputs that share an attribute with braces have one element type, and ``{biufcqsrv}`` asks no more than that.

A third part says what is different here. ``stateful`` marks an operation with state or side effects, and
``ours`` one that TensorFlow does not have. ``-name`` is an attribute that nodes of this library do not store.
``+name:type=default`` is one that they store although TensorFlow does not have it, has another default, or
derives it from the inputs. A default ``none`` is Python's ``None``.

The rows of programs and of other distributions are added when they register their types.

The types of the last section, ``[tensorflow]``, are known and not implemented: references that are imported
as resources, and what other libraries may register.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, resource
from actorsession.graph.shape import TensorShape
from actorsession.records import dataclass
from actorsession.registrations import on_scope

__all__ = [
    "KIND_WORDS", "REQUIRED", "Arg", "Attr", "Signature", "add_signature", "bind", "check_types",
    "fixed_type", "input_args", "opsets", "output_types", "remove_signature", "signature_of",
    "signature_row", "tensorflow_signature",
]  # fmt: skip

# An attribute that has no default.
REQUIRED: Any = object()

_EXAMPLE = "Swish features:T -> activations:T | T:type{f}"

NOT_IMPLEMENTED = "tensorflow"
"""The section of types that are known and not implemented."""


KIND_WORDS = {
    "b": "bool",
    "i": "signed integers",
    "u": "unsigned integers",
    "f": "floating types",
    "c": "complex types",
    "q": "quantised types",
    "s": "strings",
    "r": "resources",
    "v": "variants",
}
"""What messages call the kinds of types (see ``DType.kind``)."""


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
    """An attribute.

    Attributes:
        name: its name.
        type: its type by TensorFlow's name.
        default: its default, or ``REQUIRED``.
        allowed: the element types that are accepted, as kinds and names; empty for any.
    """

    name: str
    type: str
    default: Any = REQUIRED
    allowed: tuple[str, ...] = ()

    def allows(self, dtype: DType) -> bool:
        """Return whether an element type is accepted."""
        return not self.allowed or any(
            dtype.kind in item if _are_kinds(item) else dtype.name == item for item in self.allowed
        )

    def described(self) -> str:
        """Return the accepted element types in words."""
        words = [[KIND_WORDS[kind] for kind in item] if _are_kinds(item) else [item] for item in self.allowed]
        return ", ".join([word for each in words for word in each])


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs, outputs and attributes of an operation type.

    Attributes:
        inputs: the inputs.
        outputs: the outputs.
        attrs: the attributes that TensorFlow has, by name.
        stored: defaults of the attributes that nodes of this library store, by name. Those that follow from
            the types of inputs are not stored.
        kinds: TensorFlow's names of the types of all attributes, by name.
        stateful: whether it has state or side effects.
        is_ours: whether TensorFlow has no such type.
    """

    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: Mapping[str, Attr]
    stored: Mapping[str, Any]
    kinds: Mapping[str, str]
    stateful: bool
    is_ours: bool


@functools.cache
def _rows() -> tuple[dict[str, str], Mapping[str, tuple[str, ...]]]:
    """Return the rows by operation type, and the operation types by opset."""
    rows: dict[str, str] = {}
    types: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text("ascii").splitlines():
        if line.startswith("["):
            section = types.setdefault(line[1:-1], [])
            continue
        name = line.split(" ", 1)[0]
        rows[name] = line
        section.append(name)
    return rows, {opset: tuple(names) for opset, names in types.items()}


def opsets() -> Mapping[str, tuple[str, ...]]:
    """Return the operation types by opset, without those that are not implemented."""
    return {name: types for name, types in _rows()[1].items() if name != NOT_IMPLEMENTED}


def add_signature(row: str) -> str:
    """Add the row of an operation type of a program or of another distribution.

    Args:
        row: a row in the form of the table; its type counts as one that TensorFlow does not have.

    Returns:
        The operation type.

    Raises:
        ValueError: if it is no row.
        KeyError: if the type has a row.
    """
    name = row.split(" ", 1)[0]
    rows = _rows()[0]
    if name in rows:
        raise KeyError(f"op {name!r} has a signature already: {rows[name]}")
    parts = [part.strip() for part in row.split(" |")]
    full = " | ".join([*parts, *[""] * (3 - len(parts))])
    _check(row, _parsed(full))
    rows[name] = f"{full} ours"
    _forget()
    return name


def _check(row: str, signature: Signature) -> None:
    """Check that each input and output of a new row has a type.

    Raises:
        ValueError: if one has none.
    """
    shown = f"{row!r} is no signature such as {_EXAMPLE!r}"
    if not row.split(" ", 1)[0].isidentifier() or " ->" not in row:
        raise ValueError(shown)
    for arg in (*signature.inputs, *signature.outputs):
        if arg.type not in signature.attrs and _known_type(arg.type) is None:
            raise ValueError(f"{shown}: {arg.type!r} is neither a type nor an attribute")
        if arg.number and arg.number not in signature.attrs:
            raise ValueError(f"{shown}: {arg.number!r} is no attribute")


def remove_signature(op: str) -> None:
    """Remove a row that was added."""
    del _rows()[0][op]
    _forget()


def _forget() -> None:
    """Forget what was derived from the rows, such as that a type has none."""
    for function in (signature_of, _limited, _type_attrs, _output_types):
        function.cache_clear()


def _snapshot() -> Callable[[], object]:
    rows = _rows()[0]
    before = rows.copy()

    def restore() -> None:
        if rows != before:
            rows.clear()
            rows.update(before)
            _forget()

    return restore


on_scope(_snapshot)


def signature_row(op: str) -> str:
    """Return the row of an operation type."""
    return _rows()[0][op]


@functools.cache
def signature_of(op: str) -> Signature | None:
    """Return the signature of an operation type; ``None`` if the table has no such type."""
    row = _rows()[0].get(op)
    return None if row is None else _parsed(row)


def _parsed(row: str) -> Signature:
    args, _, rest = row.partition(" |")
    words, _, marks = rest.partition(" |")
    left, _, right = args.partition(" ->")
    inputs = tuple([_arg(word) for word in left.split()[1:]])
    outputs = tuple([_arg(word) for word in right.split()])
    attrs = {attr.name: attr for attr in map(_attr, words.split())}
    derived = {arg.type for arg in inputs} | {arg.number for arg in inputs}
    stored = {name: attr.default for name, attr in attrs.items() if name not in derived}
    kinds = {attr.name: attr.type for attr in attrs.values()}
    marked = marks.split()
    for word in marked:
        if word.startswith("-"):
            stored.pop(word[1:])
        elif word.startswith("+"):
            attr = _attr(word[1:])
            stored[attr.name], kinds[attr.name] = attr.default, attr.type
    return Signature(inputs, outputs, attrs, stored, kinds, "stateful" in marked, "ours" in marked)


def tensorflow_signature(op: str) -> Signature | None:
    """Return the signature of an operation type, if TensorFlow has it."""
    signature = signature_of(op)
    return None if signature is None or signature.is_ours else signature


def _arg(word: str) -> Arg:
    name, _, kind = word.partition(":")
    is_ref = kind.endswith("&")
    kind, _, number = kind.rstrip("&").partition("*")
    return Arg(name, kind.strip("[]"), number, kind.startswith("["), is_ref)


def _attr(word: str) -> Attr:
    left, equals, default = word.partition("=")
    name, _, kind = left.partition(":")
    kind, _, allowed = kind.rstrip("}").partition("{")
    value = _default(kind, default) if equals else REQUIRED
    return Attr(name, kind, value, tuple(allowed.split(",")) if allowed else ())


def _default(kind: str, word: str) -> Any:
    if word == "none":
        return None
    if kind.startswith("list("):
        return tuple([_default(kind[5:-1], item) for item in word[1:-1].split(",") if item])
    if kind == "float":
        return float(word)
    if kind == "type":
        return _known_type(word) or word
    if kind == "shape":
        sizes = word[1:-1].split(",")
        return TensorShape(None if word == "?" else [int(size) for size in sizes if size])
    return json.loads(word)


def _known_type(name: str) -> DType | None:
    try:
        return as_dtype(name)
    except TypeError:
        return None


def _are_kinds(item: str) -> bool:
    return all(letter in KIND_WORDS for letter in item)


# -- types and counts ----------------------------------------------------------------------------


def bind(
    args: Sequence[Arg], dtypes: Sequence[DType], known: Mapping[str, Any], attrs: Mapping[str, Attr]
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


def check_types(op: str, dtypes: tuple[DType, ...], attrs: Mapping[str, Any]) -> None:
    """Check the element types of a node's inputs against those that the table accepts.

    Inputs that share a type attribute for which the table names element types have one element type.

    Args:
        op: operation type.
        dtypes: element types of the inputs.
        attrs: attributes of the node.

    Raises:
        TypeError: for an element type that the operation does not accept, or inputs of two types where one is
            wanted.
        ValueError: for another number of inputs.
    """
    _check_types(op, dtypes, _given(op, attrs))


def _check_types(op: str, dtypes: tuple[DType, ...], given: tuple[tuple[str, Any], ...]) -> None:
    signature = signature_of(op)
    if signature is None:
        return
    limited = _limited(op)
    of_attribute: dict[str, DType] = {}
    first: dict[str, str] = {}
    for arg, dtype in zip(input_args(op, len(dtypes), dict(given)), dtypes, strict=True):
        attr = limited.get(arg.type)
        if attr is None:
            continue
        if not attr.allows(dtype):
            place = "" if len(signature.inputs) == 1 else f" as {arg.name}"
            raise TypeError(
                f"Value passed to parameter '{arg.name}' has DataType {dtype.name} not in list of allowed "
                f"values: {op} takes {attr.described()}{place}; got {dtype.name}"
            )
        first.setdefault(arg.type, arg.name)
        if not arg.is_list and of_attribute.setdefault(arg.type, dtype) is not dtype:
            names = ", ".join([each.name for each in dtypes])
            raise TypeError(
                f"Input '{arg.name}' of '{op}' Op has type {dtype.name} that does not match type "
                f"{of_attribute[arg.type].name} of argument '{first[arg.type]}'. {op} takes inputs of one "
                f"dtype; got {names}: cast one of them"
            )


@functools.cache
def _limited(op: str) -> Mapping[str, Attr]:
    """Return the type attributes of inputs for which the table names element types."""
    signature = signature_of(op)
    if signature is None:
        return {}
    types = {arg.type for arg in signature.inputs}
    return {name: attr for name, attr in signature.attrs.items() if attr.allowed and name in types}


def input_args(op: str, total: int, attrs: Mapping[str, Any]) -> list[Arg]:
    """Return for each input of a node the input of the signature that it belongs to.

    Args:
        op: operation type of the table.
        total: number of inputs of the node.
        attrs: attributes of the node.

    Raises:
        ValueError: if the number does not fit the signature.
    """
    signature = signature_of(op)
    assert signature is not None
    counts = _counts(signature.inputs, total, attrs)
    if counts is None or sum(counts) != total:
        names = ", ".join([arg.name for arg in signature.inputs])
        raise ValueError(f"{op} takes the inputs {names}; got {total}")
    return [arg for arg, count in zip(signature.inputs, counts, strict=True) for _ in range(count)]


def fixed_type(arg: Arg, attrs: Mapping[str, Attr]) -> DType | None:
    """Return the element type of an input or output that has the same one in each node.

    A reference of TensorFlow is a handle here.
    """
    if arg.is_list or arg.type in attrs:
        return None
    return resource if arg.is_ref else as_dtype(arg.type)


def output_types(op: str, dtypes: tuple[DType, ...], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
    """Check the element types of a node's inputs, and return those of its outputs.

    Args:
        op: operation type of the table.
        dtypes: element types of the inputs.
        attrs: attributes of the node.

    Raises:
        TypeError: for element types that the table does not accept; see ``check_types``.
    """
    return _output_types(op, dtypes, _given(op, attrs))


def _given(op: str, attrs: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return the attributes on which the number and types of inputs and outputs depend."""
    names = _type_attrs(op)
    if not names:
        return ()
    read = [(name, attrs[name]) for name in names if name in attrs]
    return tuple([(k, tuple(v) if isinstance(v, list) else v) for k, v in read])


@functools.cache
def _type_attrs(op: str) -> Sequence[str]:
    signature = signature_of(op)
    if signature is None:
        return ()
    args = (*signature.inputs, *signature.outputs)
    return sorted({name for arg in args for name in (arg.type, arg.number)} & signature.stored.keys())


@functools.lru_cache(4096)  # most nodes of a graph have types that others have as well
def _output_types(op: str, dtypes: tuple[DType, ...], given: tuple[tuple[str, Any], ...]) -> tuple[DType, ...]:
    _check_types(op, dtypes, given)
    signature = signature_of(op)
    if signature is None:
        raise ValueError(f"op {op!r} has no signature; register it with a row such as {_EXAMPLE!r}")
    attrs = dict(given)
    known = {**(bind(signature.inputs, dtypes, attrs, signature.attrs) or {}), **attrs}
    types: list[DType] = []
    for arg in signature.outputs:
        if arg.is_list:
            types += [as_dtype(dtype) for dtype in known[arg.type]]
            continue
        attr = signature.attrs.get(arg.type)
        if attr and arg.type not in known:
            return ()  # of a list of no inputs, which the shape rule refuses
        dtype = fixed_type(arg, signature.attrs) or as_dtype(known[arg.type])
        if attr and not attr.allows(dtype):
            raise TypeError(f"{op} gives {attr.described()} as {arg.name}; got {dtype.name}")
        types += [dtype] * (known[arg.number] if arg.number else 1)
    return tuple(types)
