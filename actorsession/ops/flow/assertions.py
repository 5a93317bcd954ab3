"""``Assert``, ``Print`` and ``check_numerics``: nodes that inspect values.

Owns the op types and the text form of values; ``checks`` builds assertions from them.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bool_, float16, float32, float64, int32, string
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.flow.control import group
from actorsession.ops.flow.streams import write_line
from actorsession.ops.rows import checked, first, no_outputs, op, same

__all__ = ["Assert", "Print", "add_check_numerics_ops", "check_numerics", "verify_tensor_all_finite"]

# How many elements are written by default, as in TensorFlow.
_FEW = 3
# Op types of loops and branches, in either form.
_CONTROL = frozenset({
    "Case", "Enter", "Exit", "If", "Merge", "NextIteration", "RefEnter", "RefExit", "RefMerge",
    "RefNextIteration", "RefSwitch", "StatelessIf", "StatelessWhile", "Switch", "While",
})  # fmt: skip


def Assert(condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None) -> Operation:
    """Fail the step with InvalidArgumentError unless a condition is true.

    The operation has to be run, as a target or by a control dependency.

    Args:
        condition: a bool tensor; all elements have to be true.
        data: contents of the error message: tensors and texts.
        summarize: how many elements of each; 3 if left out.
        name: wanted name of the scope of the operation.

    Raises:
        TypeError: if ``data`` is no list.
        ValueError: if it is empty.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(f"Expected list for 'data' argument to 'Assert' Op, not {data!r}.")
    if len(items := list(data)) == 0:
        raise ValueError("Assert needs a tensor or text for its message: data is empty")
    graph = graph_of(condition, *items)
    with graph.as_default(), graph.name_scope(name or "Assert"):
        shown = [convert_to_tensor(item) for item in items]
        predicate = convert_to_tensor(condition, bool_)
        few = _FEW if summarize is None else summarize
        # As in TensorFlow, where a branch guards those that show more than texts and whole numbers.
        plain = all(item.dtype in (string, int32) for item in shown)
        own = "Assert" if plain else "AssertGuard/Merge"
        return raw.Assert(predicate, shown, summarize=few, name=own)


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a tensor unchanged, and write others to standard error whenever it is computed.

    Args:
        input_: the tensor to return.
        data: the values to write: tensors and texts.
        message: text in front of the values.
        first_n: how many times to write in a session; always if left out.
        summarize: how many elements of each; 3 if left out.
        name: wanted name.
    """
    shown = [convert_to_tensor(item) for item in data]
    return raw.Print(
        convert_to_tensor(input_),
        shown,
        message=message or "",
        name=name,
        first_n=-1 if first_n is None else first_n,
        summarize=_FEW if summarize is None else summarize,
    )


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Return floating-point numbers unchanged; the step fails with InvalidArgumentError if one is not finite.

    Args:
        tensor: the numbers.
        message: beginning of the error message.
        name: wanted name.
    """
    return raw.CheckNumerics(tensor, message=message, name=name)


def verify_tensor_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """Call ``check_numerics`` with TensorFlow\'s other name.

    Args:
        x: the numbers.
        message: beginning of the error message.
        name: wanted name; ``VerifyFinite`` if left out.
    """
    tensor = convert_to_tensor(x)
    with tensor.graph.name_scope(name or "VerifyFinite"):
        return check_numerics(tensor, message, "control_dependency")


def add_check_numerics_ops() -> Operation:
    """Add a check of every floating tensor of the default graph, each after the previous ones.

    Returns:
        The operation that runs all checks. The step fails with InvalidArgumentError at the first tensor in
        which a number is NaN or infinite; the error names it.

    Raises:
        ValueError: for a graph with floating numbers in loops or branches.
    """
    graph = get_default_graph()
    checks: list[Operation] = []
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            if tensor.dtype not in (float16, float32, float64):
                continue
            if operation.type in _CONTROL:
                raise ValueError(
                    "`add_check_numerics_ops` is not compatible with TensorFlow control flow operations "
                    f"such as `cond` or `while_loop`; found {operation.name!r}."
                )
            with graph.control_dependencies(checks):
                checks = [check_numerics(tensor, f"{operation.name}:{tensor.value_index}").op]
    return group(*checks)


# -- text form of values -----------------------------------------------------------------------------


def summary(value: Any, few: int) -> str:
    """Return a value in brackets, with its first elements; all if ``few`` is less than 0."""
    array = np.asarray(value)
    limit = array.size if few < 0 else few
    if not array.ndim:
        return f"[{_element(value)}]"
    return f"[{''.join(_dimension(array, itertools.count(), limit, 0))}{'...' * (array.size > limit)}]"


def _dimension(array: Any, taken: Iterator[int], limit: int, depth: int) -> Iterator[str]:
    """Yield the text of one dimension until the limit of elements is reached."""
    if array.ndim == 1:
        for i, item in enumerate(array):
            if next(taken) >= limit:
                if depth:
                    yield "..."
                return
            yield f" {_element(item)}" if i else _element(item)
        return
    for part in array:
        inner = list(_dimension(part, taken, limit, depth + 1))
        if not inner or inner == ["..."]:
            return
        yield f"[{''.join(inner)}]"


def _element(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, np.ndarray):
        return _element(value[()])
    kind = np.asarray(value).dtype
    if kind.kind == "c":
        return f"({_element(value.real)},{_element(value.imag)})"
    if kind.kind in "iu" or not np.issubdtype(kind, np.number):
        return str(value)
    short = f"{float(value):.6g}"
    exact = "17" if kind == np.float64 else "9"
    return short if kind.type(short) == value or value != value else f"{float(value):.{exact}g}"


# -- op types ----------------------------------------------------------------------------------------


def _assert_kernel(ctx: KernelContext) -> Kernel:
    few = ctx.attrs["summarize"]

    def check(condition: Any, *data: Any) -> None:
        if not np.all(condition):
            said = " ".join([summary(value, few) for value in data])
            raise InvalidArgumentError(f"assertion failed: {said}")

    return check


def _print_kernel(ctx: KernelContext) -> Kernel:
    message, few, first = ctx.attrs["message"], ctx.attrs["summarize"], ctx.attrs["first_n"]
    numbers: Iterator[int] = ctx.state(itertools.count)

    def write(value: Any, *data: Any) -> Any:
        if first < 0 or next(numbers) < first:
            said = "".join([summary(item, few) for item in data])
            write_line(sys.stderr, f"{message}{said}")
        return value

    return write


def _numerics_kernel(ctx: KernelContext) -> Kernel:
    message = ctx.attrs["message"]

    def check(value: Any) -> Any:
        if not np.isfinite(value).all():
            kinds_present = [word for word, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(value).any()]
            raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(kinds_present)} values")
        return value

    return check


op("Assert", checked(no_outputs), kernel=_assert_kernel, grad=NOT_DIFFERENTIABLE)
op("Print", first, kernel=_print_kernel, aliases=True, grad=lambda op, grad: [grad, *[None] * (len(op.inputs) - 1)])


def _kinds_kernel(ctx: KernelContext) -> Kernel:
    """Tell the two infinities apart, as the second version does."""
    message = ctx.attrs["message"]
    kinds = (("-Inf", np.isneginf), ("+Inf", np.isposinf), ("NaN", np.isnan))

    def check(value: Any) -> Any:
        if not np.isfinite(value).all():
            kinds_present = [word for word, test in kinds if test(value).any()]
            raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(kinds_present)} values")
        return value

    return check


def _numerics_v2_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    what = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return [raw.CheckNumericsV2(grad, message=what)]


op("CheckNumericsV2", same, kernel=_kinds_kernel, aliases=True, grad=_numerics_v2_gradient)
op(
    "CheckNumerics",
    same,
    kernel=_numerics_kernel,
    aliases=True,
    grad=lambda op, grad: [check_numerics(grad, "Not a number (NaN) or infinity (Inf) values detected in gradient.")],
)
