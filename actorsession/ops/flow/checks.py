"""Assertions about tensors: TensorFlow's ``assert_equal`` and the other ``assert_*`` functions.

A condition that is statically known is checked while the graph is built; comparisons become an ``Assert`` all
the same. Names, messages and error classes are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays.dimensions import rank as rank_of
from actorsession.ops.arrays.dimensions import shape as shape_of
from actorsession.ops.arrays.joining import stack
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import maximum, subtract
from actorsession.ops.elements.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from actorsession.ops.elements.elementwise import abs as absolute
from actorsession.ops.flow.assertions import Assert
from actorsession.ops.flow.control import no_op
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_all, reduce_any

__all__ = [
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_rank", "assert_rank_at_least", "assert_rank_in",
    "assert_scalar", "assert_type",
]  # fmt: skip


def _binary(
    sign: str, opname: str, build: Callable[[Any, Any], Tensor], known: Callable[[Any, Any], Any]
) -> Callable[..., Operation]:
    """Return the public function that asserts a comparison of all elements."""

    def check(
        x: Any,
        y: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        """Assert a comparison of all elements of two tensors; the name of the function tells which one.

        A comparison of values that are known while the graph is built is checked immediately.

        Args:
            x: numbers.
            y: numbers of the same dtype; the two are broadcast.
            data: contents of the error message; both tensors if omitted.
            summarize: how many elements of each.
            message: beginning of the error message.
            name: wanted name.

        Returns:
            The operation, which must be run.

        Raises:
            InvalidArgumentError: immediately if the comparison is known to fail, else in the step.
        """
        graph = graph_of(x, y)
        if opname == "assert_equal":
            with graph.name_scope(name or opname):
                if x is y:
                    return no_op()
        with graph.as_default(), graph.name_scope(name or opname):
            left = convert_to_tensor(x, name="x")
            right = convert_to_tensor(y, left.dtype, name="y")
            head = f"Condition x {sign} y did not hold element-wise:"
            named = (f"x ({left.name}) = ", f"y ({right.name}) = ")
            values = get_static_value(left), get_static_value(right)
            if values[0] is not None and values[1] is not None and not np.all(known(*values)):
                said = [message or "", head, named[0], str(values[0]), named[1], str(values[1])]
                raise InvalidArgumentError("\n".join(said))
            shown = [head, named[0], left, named[1], right] if data is None else list(data)
            if message is not None:
                shown.insert(0, message)
            return Assert(reduce_all(build(left, right)), shown, summarize)

    check.__name__ = opname
    check.__qualname__ = opname
    return check


assert_equal = _binary("==", "assert_equal", equal, np.equal)
assert_none_equal = _binary("!=", "assert_none_equal", not_equal, np.not_equal)
assert_less = _binary("<", "assert_less", less, np.less)
assert_less_equal = _binary("<=", "assert_less_equal", less_equal, np.less_equal)
assert_greater = _binary(">", "assert_greater", greater, np.greater)
assert_greater_equal = _binary(">=", "assert_greater_equal", greater_equal, np.greater_equal)


def _sign(opname: str, sign: str, build: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Operation]:
    """Return the public function that asserts the sign of all elements."""

    def check(
        x: Any,
        data: Sequence[Any] | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        """Assert the sign of all elements; the name tells which one. Arguments as ``assert_equal``."""
        graph = graph_of(x)
        with graph.as_default(), graph.name_scope(name or opname):
            tensor = convert_to_tensor(x, name="x")
            head = f"Condition x {sign} 0 did not hold element-wise:"
            shown = [message or "", head, f"x ({tensor.name}) = ", tensor] if data is None else list(data)
            zero = scalar_like(0, tensor)
            holds = build(zero, tensor)
            value = get_static_value(tensor)
            if value is not None:
                flags = {"> 0": value > 0, "< 0": value < 0, ">= 0": value >= 0, "<= 0": value <= 0}
                if not np.all(flags[f"{sign} 0"]):
                    raise InvalidArgumentError("\n".join([message or "", head, f"x ({tensor.name}) = ", str(value)]))
            with graph.name_scope("assert_less_equal" if "=" in sign else "assert_less"):
                return Assert(reduce_all(holds), shown, summarize)

    check.__name__ = opname
    check.__qualname__ = opname
    return check


assert_positive = _sign("assert_positive", ">", less)
assert_negative = _sign("assert_negative", "<", greater)
assert_non_negative = _sign("assert_non_negative", ">=", less_equal)
assert_non_positive = _sign("assert_non_positive", "<=", greater_equal)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Assert that ``|x - y| <= atol + rtol * |y|`` for all elements.

    Args:
        x: floating-point numbers.
        y: numbers of the same dtype; the two are broadcast.
        rtol: relative tolerance; ten times the dtype's precision if left out.
        atol: absolute tolerance; the same default.
        data: contents of the error message.
        summarize: how many elements of each.
        message: beginning of the error message.
        name: wanted name.
    """
    graph = graph_of(x, y)
    with graph.as_default(), graph.name_scope(name or "assert_near"):
        left = convert_to_tensor(x, name="x")
        right = convert_to_tensor(y, left.dtype, name="y")
        precision = 10 * float(np.finfo(left.dtype.np_dtype).eps) if left.dtype.is_floating else 0.0
        relative = convert_to_tensor(precision if rtol is None else rtol, left.dtype)
        total = convert_to_tensor(precision if atol is None else atol, left.dtype)
        allowed = total + relative * absolute(right)
        holds = reduce_all(less_equal(absolute(subtract(left, right)), maximum(allowed, 0)))
        shown = [
            message or "",
            f"x and y not equal to tolerance rtol = {relative.name}, atol = {total.name}",
            f"x ({left.name}) = ",
            left,
            f"y ({right.name}) = ",
            right,
        ]
        return Assert(holds, shown if data is None else list(data), summarize)


# -- dtypes and ranks --------------------------------------------------------------------------------


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Assert that a tensor's dtype is an integer type.

    Raises:
        TypeError: if it is not.
    """
    graph = graph_of(x)
    with graph.as_default(), graph.name_scope(name or "assert_integer"):
        tensor = convert_to_tensor(x, name="x")
        if not tensor.dtype.is_integer:
            raise TypeError(
                f'{message or ""}Expected "x" to be integer type.  Found: {tensor.name} of dtype {tensor.dtype.name}'
            )
        return no_op(name="statically_determined_was_integer")


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """Assert that a tensor has a dtype.

    Raises:
        TypeError: if it has another.
    """
    expected: DType = as_dtype(tf_type)
    value = convert_to_tensor(tensor)
    with value.graph.as_default(), value.graph.name_scope(name or "assert_type"):
        if value.dtype is not expected:
            head = f"{message}  " if message else ""
            raise TypeError(f"{head}{value.name} must be of type {expected.name}; got {value.dtype.name}")
        return no_op(name="statically_determined_correct_type")


def assert_rank(
    x: Any,
    rank: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Assert that a tensor has a rank.

    Args:
        x: the tensor.
        rank: an int32 scalar.
        data: contents of the error message.
        summarize: how many elements of each.
        message: beginning of the error message.
        name: wanted name.

    Raises:
        ValueError: if it is statically known that the rank is another.
    """
    words = "must have rank"
    return _check_rank("assert_rank", words, x, [rank], equal, data, summarize, message, name)


def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Assert that a tensor has at least a rank; arguments and errors as ``assert_rank``."""
    words = "must have rank at least"
    return _check_rank("assert_rank_at_least", words, x, [rank], greater_equal, data, summarize, message, name)


def assert_rank_in(
    x: Any,
    ranks: Sequence[Any],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Assert that a tensor has one of some ranks; arguments and errors as ``assert_rank``."""
    words = "must have rank in"
    return _check_rank("assert_rank_in", words, x, list(ranks), equal, data, summarize, message, name)


def _check_rank(
    opname: str,
    words: str,
    x: Any,
    ranks: list[Any],
    build: Callable[[Any, Any], Tensor],
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    tensor = convert_to_tensor(x)
    graph = tensor.graph
    with graph.as_default(), graph.name_scope(name or opname):
        rank_tensors = [convert_to_tensor(r, "int32") for r in ranks]
        known = [get_static_value(r) for r in rank_tensors]
        for value, rank_tensor in zip(known, rank_tensors, strict=True):
            if (value is not None and value.ndim) or rank_tensor.shape.rank not in (0, None):
                raise ValueError(f"{opname}: a rank must be a scalar, got {ranks}")
        rank = tensor.shape.rank
        if rank is not None and all(value is not None for value in known):
            numbers = tuple(int(value) for value in known if value is not None)
            fits = rank >= numbers[0] if build is greater_equal else rank in numbers
            if fits:
                return no_op(name="static_checks_determined_all_ok")
            said = numbers if opname == "assert_rank_in" else numbers[0]
            head = f"{message}.  " if message else ""
            raise ValueError(f"{head}Tensor {tensor.name} {words} {said}.  Received rank {rank}, shape {tensor.shape}")
        holds = [build(rank_of(tensor), r) for r in rank_tensors]
        condition = holds[0] if len(holds) == 1 else reduce_any(stack(holds))
        shown = [message or "", f"Tensor {tensor.name} {words}", *rank_tensors, "Received shape: ", shape_of(tensor)]
        return Assert(condition, shown if data is None else list(data), summarize)


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """Return a tensor after a static check that it is a scalar.

    Raises:
        ValueError: if it is statically known that it is not.
    """
    value = convert_to_tensor(tensor)
    if value.shape.rank not in (0, None):
        head = message or ""
        raise ValueError(f"{head}Expected scalar shape for {value.name}, saw shape: {value.shape}.")
    return value
