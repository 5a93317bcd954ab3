"""Functions as arguments: branches and loops of ``Defun`` functions, remote calls, symbolic gradients.

The functions are those of ``functions``. Branches and loops are built by ``control_flow``, with a call in
each body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import DType, as_dtype, int32, string
from actorsession.graph.function import REMOTE_CALL
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.shape import size
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import add
from actorsession.ops.elements.comparison import greater, less, logical_and, logical_or, not_equal
from actorsession.ops.flow.calls import call, gradient_call, specialised
from actorsession.ops.flow.control_flow import cond as branch
from actorsession.ops.flow.control_flow import while_loop
from actorsession.ops.flow.functions import DefinedFunction, Function, OverloadedFunction

__all__ = ["For", "Gradient", "If", "While", "remote_call", "symbolic_gradient"]


def remote_call(
    target: Any, args: Sequence[Any], Tout: Sequence[Any], f: Function, name: str | None = None
) -> list[Tensor]:
    """Run a function on a device.

    Args:
        target: name of the device; the value of a tensor must be statically known.
        args: arguments.
        Tout: dtypes of the results.
        f: the function.
        name: wanted name.

    Returns:
        The results.

    Raises:
        ValueError: if the target is not statically known, or the function returns other dtypes.
    """
    graph = graph_of(target, *args)
    asked = convert_to_tensor(target, string, name="target", graph=graph)
    device = get_static_value(asked)
    if device is None:
        raise ValueError(f"remote_call: the target must be known while the graph is built, got {asked!r}")
    function, inputs = _with_arguments(f, args, graph)
    with graph.as_default(), graph.device(device.item().decode()):
        op = call(REMOTE_CALL, function.in_graph(graph), [asked], inputs, graph, name or REMOTE_CALL)
    _check_dtypes(op.outputs, Tout, "remote_call")
    return list(op.outputs)


def symbolic_gradient(input: Sequence[Any], Tout: Sequence[Any], f: Function, name: str | None = None) -> list[Tensor]:
    """Return the gradient of a function.

    Args:
        input: its arguments, followed by the gradients of its results.
        Tout: dtypes of its arguments and of their gradients.
        f: the function, which must not capture tensors.
        name: wanted name.

    Returns:
        The gradients of its arguments; zeros for an argument that no result depends on.

    Raises:
        ValueError: for wrong numbers or dtypes, or a function that captures tensors.
    """
    graph = graph_of(*input)
    count = len(Tout)
    function, inputs = _with_arguments(f, input[:count], graph)
    known = function.in_graph(graph)
    if known.captures:
        raise ValueError(f"symbolic_gradient: {known.name!r} captures {known.captures[0]!r}: pass it as an argument")
    _check_dtypes(inputs, Tout, "symbolic_gradient")
    results = known.definition.output_specs()
    of_results = input[count:]
    if len(of_results) != len(results):
        raise ValueError(
            f"symbolic_gradient: {known.name!r} has {len(results)} results, got {len(of_results)} gradients"
        )
    grads = [convert_to_tensor(g, spec.dtype, graph=graph) for g, spec in zip(of_results, results, strict=True)]
    body = specialised(known.definition, [t.spec for t in inputs], known.name)
    back = gradient_call(body, inputs, grads, graph, name or "SymbolicGradient")
    return [zeros_like(t) if g is None else g for t, g in zip(inputs, back, strict=True)]


def Gradient(inputs: Sequence[Any], f: Function, name: str | None = None) -> list[Tensor]:
    """Return the gradient of a function; arguments as ``symbolic_gradient``."""
    graph = graph_of(*inputs)
    tensors = [convert_to_tensor(value, graph=graph) for value in inputs]
    if isinstance(f, OverloadedFunction):
        raise TypeError("Gradient: the dtypes of the function's arguments must be declared")
    dtypes = f.declared_input_types
    return symbolic_gradient(tensors, dtypes, f, name)


def If(
    cond: Any, inputs: Sequence[Any], then_branch: Function, else_branch: Function, name: str | None = None
) -> list[Tensor]:
    """Return the results of one of two functions.

    Args:
        cond: a scalar that holds if it is not zero or empty, or a tensor that holds if it is not empty.
        inputs: arguments of both.
        then_branch: called if it holds.
        else_branch: called if it does not hold.
        name: wanted name; ``If`` if left out.

    Raises:
        TypeError: if the functions return different dtypes.
        ValueError: if they cannot take the arguments.
    """
    graph = graph_of(cond, *inputs)
    tensors = [convert_to_tensor(value, graph=graph) for value in inputs]
    with graph.as_default():
        results = branch(
            _holds(convert_to_tensor(cond, graph=graph)),
            lambda: _as_list(then_branch(*tensors)),
            lambda: _as_list(else_branch(*tensors)),
            strict=True,
            name=name or "If",
        )
    return list(results)


def _holds(value: Tensor) -> Tensor:
    if value.shape.rank not in (None, 0):
        return greater(size(value), 0)
    if value.dtype is string:
        return not_equal(value, "")
    return value if value.dtype.is_bool else not_equal(value, constant(0, value.dtype))


def While(input_: Sequence[Any], cond: Function, body: Function, name: str | None = None) -> list[Tensor]:
    """Repeat a function while another one returns true.

    Args:
        input_: first values of the loop variables.
        cond: a function of the variables that returns a bool scalar.
        body: a function of the variables that returns their next values.
        name: wanted name; ``While`` if left out.

    Raises:
        TypeError: if a variable changes its dtype, or the condition is not bool.
        ValueError: if the functions take or return wrong numbers of values.
    """
    graph = graph_of(*input_)
    tensors = [convert_to_tensor(value, graph=graph) for value in input_]
    function, _ = _with_arguments(body, tensors, graph)

    def next_values(*values: Tensor) -> list[Tensor]:
        return _counted(function(*values), len(tensors), "While")

    results = while_loop(
        lambda *values: _holds(cond(*values)),
        next_values,
        tensors,
        shape_invariants=_invariants(function, tensors, graph),
        name=name or "While",
        return_same_structure=True,
    )
    return list(results)


def For(
    start: Any, limit: Any, delta: Any, inputs: Sequence[Any], body: Function, name: str | None = None
) -> list[Tensor]:
    """Repeat a function for each number of a range.

    Args:
        start: int32: the first number.
        limit: int32: the exclusive end of the numbers.
        delta: int32: the step.
        inputs: first values of the loop variables.
        body: a function of the number and the variables that returns the next values of the variables.
        name: wanted name; ``For`` if left out.

    Raises:
        TypeError: if a variable changes its dtype.
        ValueError: if the function takes or returns a wrong number of values.
    """
    graph = graph_of(start, limit, delta, *inputs)
    begin, end, step = [convert_to_tensor(value, int32, graph=graph) for value in (start, limit, delta)]
    tensors = [convert_to_tensor(value, graph=graph) for value in inputs]
    function, _ = _with_arguments(body, [begin, *tensors], graph)

    def goes_on(number: Tensor, *values: Tensor) -> Tensor:
        ahead = logical_and(greater(step, 0), less(number, end))
        return logical_or(ahead, logical_and(less(step, 0), greater(number, end)))

    def next_values(number: Tensor, *values: Tensor) -> list[Tensor]:
        after = _counted(function(number, *values), len(tensors), "For")
        return [add(number, step), *after]

    variables = [begin, *tensors]
    invariants = [begin.shape, *_invariants(function, variables, graph, first=1)]
    results = while_loop(goes_on, next_values, variables, shape_invariants=invariants, name=name or "For")
    return list(results[1:])


# -- helpers -------------------------------------------------------------------------------------


def _with_arguments(f: Function, args: Sequence[Any], graph: Graph) -> tuple[DefinedFunction, list[Tensor]]:
    """Return the defined function for arguments, and the arguments as tensors."""
    if isinstance(f, OverloadedFunction):
        tensors = [convert_to_tensor(arg, graph=graph) for arg in args]
        return f.instantiate([t.dtype for t in tensors]), tensors
    if not isinstance(f, DefinedFunction):
        raise TypeError(f"a function is one that Defun made, got {type(f).__name__}: {f!r:.100}")
    return f, f.converted(args, graph)


def _check_dtypes(tensors: Sequence[Tensor], types: Sequence[Any], what: str) -> None:
    actual = [t.dtype for t in tensors]
    asked: list[DType] = [as_dtype(dtype) for dtype in types]
    if actual != asked:
        raise ValueError(f"{what}: dtypes are {[d.name for d in actual]}, Tout says {[d.name for d in asked]}")


def _as_list(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


def _counted(results: Any, count: int, what: str) -> list[Any]:
    values = _as_list(results)
    if len(values) != count:
        raise ValueError(f"{what}: the body gives {len(values)} values for {count} loop variables")
    return values


def _invariants(
    function: DefinedFunction, variables: Sequence[Tensor], graph: Graph, first: int = 0
) -> list[TensorShape]:
    """Return the invariant shapes of loop variables; unknown for those that change theirs."""
    known = function.in_graph(graph)
    specs = [*[t.spec for t in variables], *[t.spec for t in known.captures]]
    count = len(variables) - first
    while True:
        results = specialised(known.definition, specs, known.name).output_specs()
        if len(results) != count:
            break  # the loop raises the error
        changed = [
            k
            for k, (spec, result) in enumerate(zip(specs[first : first + count], results, strict=True))
            if spec.shape.sizes is not None and spec.shape != result.shape
        ]
        if not changed:
            break
        for k in changed:
            specs[first + k] = TensorSpec(specs[first + k].dtype, TensorShape(None))
    return [spec.shape for spec in specs[first : first + count]]
