"""Functions that add ops to a graph: conversion of Python values to tensors, and the constant op.

Every op file calls ``make`` to add nodes and ``convert_to_tensor`` for its operands. An op is added to the
graph of its first tensor operand, else to the default graph.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import RequestValueError, WrongDtypeError
from actorsession.graph.dimension import Dimension
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import ShapeLike, TensorShape
from actorsession.ops.rows import op

__all__ = [
    "constant",
    "convert_all",
    "convert_to_tensor",
    "graph_of",
    "make",
    "make_one",
    "register_tensor_conversion_function",
]

# What makes tensors of objects of other classes: the priority, the class and the function.
_CONVERSIONS: list[tuple[int, Any, Callable[..., Any]]] = []


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Make objects of a class usable where tensors are.

    Args:
        base_type: the class, or several.
        conversion_func: takes ``(value, dtype=None, name=None, as_ref=False)`` and returns a tensor, or
            ``NotImplemented`` to leave the value to the next function.
        priority: those with a lower number are asked first, and of equal ones that which was there first.

    Raises:
        TypeError: if the first is no class, or the second cannot be called.
    """
    classes = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(each, type) for each in classes):
        raise TypeError(f"base_type must be a type or a tuple of types, got {base_type!r:.100}")
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable, got {conversion_func!r:.100}")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda entry: entry[0])


def _by_registered(value: Any, dtype: DType | None, hint: Any, name: str | None) -> Tensor | None:
    """The tensor that a registered function makes of a value, if one does.

    Raises:
        RuntimeError: if a function returns something else, or a tensor of another element type.
    """
    for _, base_type, function in _CONVERSIONS:
        if not isinstance(value, base_type):
            continue
        tensor: Any = NotImplemented
        if dtype is None and hint is not None:
            # The hint is a wish, so an error of it leads to another attempt.
            with contextlib.suppress(TypeError, ValueError):
                tensor = function(value, dtype=as_dtype(hint), name=name, as_ref=False)
        if tensor is NotImplemented:
            tensor = function(value, dtype=dtype, name=name, as_ref=False)
        if tensor is NotImplemented:
            continue
        if not isinstance(tensor, Tensor):
            raise RuntimeError(
                f"the conversion function {function!r} for {base_type!r} returned no tensor: {tensor!r:.100}"
            )
        if dtype is not None and tensor.dtype is not dtype:
            raise RuntimeError(
                f"the conversion function {function!r} for {base_type!r} returned {tensor.dtype.name}; "
                f"{dtype.name} was wanted"
            )
        return tensor
    return None


def graph_of(*operands: Any) -> Graph:
    """Return the graph of the first operand that belongs to one, else the default graph."""
    for operand in operands:
        if _is_symbolic(operand):
            graph = operand.graph
            assert isinstance(graph, Graph)
            return graph
    return get_default_graph()


def _is_symbolic(value: Any) -> bool:
    """Return whether a value belongs to a graph: a tensor, operation, variable or the like."""
    return hasattr(value, "_operand") or hasattr(value, "_as_graph_element")


def make(
    op_type: str,
    inputs: Sequence[Tensor],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
    graph: Graph | None = None,
) -> Operation:
    """Add a node and return its operation; see ``Graph.create_op``."""
    return (graph or graph_of(*inputs)).create_op(op_type, inputs, attrs, name)


def make_one(
    op_type: str,
    inputs: Sequence[Tensor],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
    graph: Graph | None = None,
) -> Tensor:
    """Add a node with one output and return that tensor."""
    return make(op_type, inputs, attrs, name, graph).outputs[0]


def to_array(value: Any, dtype: DType | None = None) -> Array:
    """Return a Python value as a numpy array, with TensorFlow's default types.

    Python floats become float32, ints int32 (int64 or uint64 if they need it) and strings object arrays of
    bytes; numpy values keep their type. With ``dtype`` a Python value must fit it: nothing is truncated, and
    bools fit every numeric type. A numpy value is converted as numpy does.

    Raises:
        TypeError: for a value of another kind than ``dtype``, or of no kind that tensors have.
        ValueError: for ``None`` and a ragged list.
    """
    if value is None:
        raise ValueError("None values not supported.")
    array = np.asarray(value)
    if array.dtype.kind == "O" and any(isinstance(x, Dimension) for x in array.flat):
        array = np.asarray([_numbers(x) for x in array.flat]).reshape(array.shape)
        value = array.tolist()
    if array.dtype.kind == "O" and dtype is not None and dtype.is_floating:
        array = _large_numbers(array)
    if array.dtype.kind == "f" and dtype is not None and dtype.name == "uint64":
        # numpy has no common type for integers of which only some are from 2**63 on.
        objects = np.asarray(value, object)
        if all(type(x) is int and 0 <= x < 2**64 for x in objects.flat):
            array = objects.astype(np.uint64)
    if array.dtype.kind in "SUO" or (dtype is not None and dtype.kind == "s"):
        return _string_array(value, array, dtype)
    typed = isinstance(value, (np.ndarray, np.generic))
    own = as_dtype(array.dtype)
    if dtype is not None and "q" in (own.kind, dtype.kind):
        integers = to_array(array.view(own.integers) if typed else value, as_dtype(dtype.integers))
        return integers.view(dtype.np_dtype)
    if dtype is None:
        dtype = own if typed else _default_dtype(array, own)
    if typed and "c" not in (own.kind, dtype.kind):
        # As a feed: numpy's own conversion, which cuts off fractions and wraps integers round.
        with np.errstate(invalid="ignore", over="ignore"):
            return array.astype(dtype.np_dtype)
    _check_kind(value, own, dtype)
    out = array.astype(dtype.np_dtype)
    if own.is_integer and dtype.is_integer and not np.array_equal(out, array):
        raise TypeError(f"{value!r:.100} does not fit {dtype.name}")
    return out


def _numbers(value: Any) -> Any:
    """Return a shape or dimension as int32 numbers, and any other value unchanged."""
    if isinstance(value, TensorShape):
        return np.array(value.as_tuple(), np.int32)
    if not isinstance(value, Dimension):
        return value
    if value.value is None:
        raise ValueError("a dimension that is not known makes no tensor; shape(x) gives one")
    return value.value


def _default_dtype(array: Array, own: DType) -> DType:
    """Return the dtype that Python numbers get by default."""
    if array.dtype.kind in "iu":
        narrow = np.array_equal(array.astype(np.int32), array)
        return as_dtype(int) if narrow else own
    return as_dtype(float) if array.dtype.kind == "f" else own


def _check_kind(value: Any, source: DType, target: DType) -> None:
    order = "biufc"
    ranks = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    fits = source is target or (
        source.kind in order
        and target.kind in order
        and (source.is_bool or not target.is_bool or getattr(value, "size", 1) == 0)
        and ranks[source.kind] <= ranks[target.kind]
    )
    if not fits and np.size(value) > 0:
        raise TypeError(
            f"Expected {target.name}, but got {value!r:.100} of type '{type(value).__name__}' ({source.name})"
        )


def _large_numbers(array: Array) -> Array:
    """Return Python integers beyond 64 bits as floats, and any other array unchanged."""
    whole = all(isinstance(x, int) for x in array.flat)
    return array.astype(np.float64) if whole else array


def _string_array(value: Any, array: Array, dtype: DType | None) -> Array:
    if dtype is not None and dtype.kind != "s":
        raise TypeError(f"Expected {dtype.name}, but got {value!r:.100} of type '{type(value).__name__}'")
    if not isinstance(value, np.ndarray):
        # As objects: numpy's string arrays drop trailing zero bytes and accept numbers.
        array = np.asarray(value, object)
    try:
        flat = [x.encode() if isinstance(x, str) else x for x in array.astype(object).flat]
    except UnicodeEncodeError as exc:
        raise RequestValueError(f"{value!r:.100} has half of a surrogate pair, so it is no text") from exc
    if not all(isinstance(x, bytes) for x in flat):
        raise TypeError(f"cannot make a tensor of {type(value).__name__}: {value!r:.100}")
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(array.shape)


def constant(
    value: Any,
    dtype: Any = None,
    shape: ShapeLike = None,
    name: str = "Const",
    verify_shape: bool = False,
    *,
    graph: Graph | None = None,
) -> Tensor:
    """Return a tensor with a fixed value.

    Args:
        value: a number, string, nested list or array; copied.
        dtype: element type; by default float32, int32 (int64 or uint64 if the value does not fit), bool or
            string by kind, or the array's own.
        shape: wanted shape; the last element is repeated until it is full.
        name: wanted name.
        verify_shape: whether the value itself must have exactly ``shape``.
        graph: where to build it; the default graph if left out.

    Raises:
        TypeError: if the value does not fit ``dtype``, has another shape while ``verify_shape`` is true, or
            is a tensor.
        ValueError: if it has more elements than ``shape``.
    """
    try:
        array = to_array(value, as_dtype(dtype) if dtype is not None else None)
    except NotImplementedError as exc:  # the tensor's own error message
        raise TypeError(
            f"constant takes values, got a tensor, or a list with one in it ({exc}); identity and stack take tensors"
        ) from None
    if shape is not None:
        extents = TensorShape(shape).as_tuple()
        if verify_shape and array.shape != extents:
            raise TypeError(f"Expected Tensor's shape: {extents}, but got {array.shape}.")
        array = _filled_up(array, extents)
    return make_one("Const", (), {"value": array}, name, graph or get_default_graph())


def _filled_up(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of a shape, filled up with its last element, or with zeros if it has no element."""
    room = math.prod(shape)
    if array.size > room and array.size != 1:
        raise ValueError(f"Too many elements provided: shape {list(shape)} takes at most {room}, got {array.size}")
    if array.size >= room:
        return array.reshape(-1)[:room].reshape(shape)
    flat = array.reshape(-1)
    nothing = b"" if array.dtype == object else array.dtype.type(0)
    filled = np.full(room, flat[-1] if flat.size else nothing, array.dtype)
    filled[: flat.size] = flat
    return filled.reshape(shape)


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, dtype_hint: Any = None, *, graph: Graph | None = None
) -> Tensor:
    """Return a value as a tensor: the tensor itself, a read of a variable, or a new constant.

    Args:
        value: a tensor, variable, or anything that ``constant`` accepts; lists may hold tensors, which are
            then stacked.
        dtype: element type that the result must have.
        name: name of a constant that is made.
        dtype_hint: element type of a constant, if the value fits it and ``dtype`` is left out.
        graph: graph for a constant that is made.

    Raises:
        TypeError: if a tensor has another dtype (the error is a ValueError as well), or the value does not
            fit.
    """
    target = as_dtype(dtype) if dtype is not None else None
    if hasattr(value, "_operand") or hasattr(value, "_as_graph_element"):
        # A variable makes a separate read for each reader, placed under the reader's control inputs.
        tensor = value._operand() if hasattr(value, "_operand") else value._as_graph_element()
        if not isinstance(tensor, Tensor):
            raise TypeError(f"cannot convert {tensor!r} to a tensor: it is an operation")
        if target is not None and tensor.dtype is not target:
            raise WrongDtypeError(
                f"Tensor conversion requested dtype {target.name} for Tensor with dtype "
                f"{tensor.dtype.name}: {tensor!r} has dtype {tensor.dtype.name}; {target.name} is wanted here"
            )
        return tensor
    if _CONVERSIONS and (registered := _by_registered(value, target, dtype_hint, name)) is not None:
        return registered
    if isinstance(value, (TensorShape, Dimension)):
        value = _numbers(value)
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        parts = [convert_to_tensor(v, dtype, graph=graph or graph_of(*_leaves(value))) for v in value]
        return make_one("Pack", parts, {"axis": 0}, name or "packed")
    if target is None and dtype_hint is not None:
        with contextlib.suppress(TypeError, ValueError):
            value = to_array(value, as_dtype(dtype_hint))
    return constant(value, target, name=name or "Const", graph=graph)


def convert_all(values: Sequence[Any], dtype: Any = None) -> list[Tensor]:
    """Convert operands that must share a dtype: plain values get the dtype of the tensors among them.

    Raises:
        TypeError: if two tensors differ in dtype, or a plain value does not fit.
    """
    graph = graph_of(*values)
    common = as_dtype(dtype) if dtype is not None else None
    for value in values:
        if common is None and _is_symbolic(value):
            common = value.dtype
    first: DType | None = common
    out = []
    for value in values:
        typed = isinstance(value, (np.ndarray, np.generic))
        tensor = convert_to_tensor(value, common if typed else first, graph=graph)
        first = first or tensor.dtype
        out.append(tensor)
    return out


def _holds_tensor(value: Any) -> bool:
    return any(_is_symbolic(leaf) for leaf in _leaves(value))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _infer_const(ctx: InferContext) -> list[TensorSpec]:
    value = ctx.attrs["value"]
    dtype = string if value.dtype == object else as_dtype(value.dtype)
    return [TensorSpec(dtype, TensorShape(value.shape))]


def _const_kernel(ctx: KernelContext) -> Kernel:
    value = ctx.attrs["value"]
    if value.ndim == 0:
        value = value[()]
    else:
        value = value.view()
        value.flags.writeable = False  # a kernel that writes to a constant must fail
    return lambda: value


op(
    "Const",
    infer=_infer_const,
    kernel=_const_kernel,
    grad=NOT_DIFFERENTIABLE,
    aliases=True,
    once=True,
    static_value=lambda ctx: ctx.attrs["value"],
)
