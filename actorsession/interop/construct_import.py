"""Conversion of loops and branches in TensorFlow's form to ``While`` and ``If`` operations.

The functions are built as bodies of the functional control flow operation. The names of their nodes occur in
no file, so that all names of the file stay free.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import bool_, resource, string
from actorsession.graph.function import BRANCHES
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.interop.functions import CASE, CONSTRUCTS, SEARCH, PlannedFunction
from actorsession.interop.import_plan import Planned
from actorsession.ops import cast, greater, identity, less, not_equal, size, where
from actorsession.ops.flow.constructs import ConstructBuilder, as_value

__all__ = ["CallFunction", "after", "build_construct", "ran"]

# Builds the nodes of a function from its arguments in a scope with the given name, and returns the results.
CallFunction = Callable[[PlannedFunction, Sequence[Tensor], str], list[Tensor]]


def build_construct(
    node: Planned,
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    library: Mapping[str, PlannedFunction],
    call: CallFunction,
    *,
    numbered: bool,
) -> tuple[Operation, list[Tensor]]:
    """Build a loop or branch.

    Args:
        node: the node.
        inputs: its inputs.
        full: the full name of the node in the graph.
        graph: the graph.
        library: the functions of the file, by name.
        call: builds the nodes of a function.
        numbered: whether programs may fetch outputs of the node by number.

    Returns:
        The operation, and the tensors that correspond to the node's outputs.

    Raises:
        ValueError: if a function is missing, or its number of arguments or results does not fit.
    """
    named = [node.given[key] for key in CONSTRUCTS[node.op]]
    if isinstance(named[0], tuple):
        (named,) = named  # the branches of a Case
    functions = [_function(node, name, library) for name in named]
    if node.type in BRANCHES:
        _check_branches(functions, len(inputs) - 1)
        branches = [functools.partial(call, function, inputs[1:]) for function in functions]
        if node.op == node.type:
            predicate = _truth(inputs[0], graph, f"{full}/_predicate/")
            return _choice(node.type, predicate, branches, full, graph)
        op = _case(node, inputs[0], branches, full, graph)
        return op, list(op.outputs[: len(functions[0].results)])
    return _loop(node, functions, inputs, full, graph, call, numbered)


def _function(node: Planned, name: str, library: Mapping[str, PlannedFunction]) -> PlannedFunction:
    if name not in library:
        key = next(key for key in CONSTRUCTS[node.op] if name in (node.given[key], *node.given[key]))
        raise ValueError(f"function {name!r}, its attribute {key!r}, is not in the graph's library")
    return library[name]


def _truth(value: Tensor, graph: Graph, scope: str) -> Tensor:
    """Return whether a loop or branch takes a value for true: a number but 0, or an array with elements."""
    if value.dtype is bool_ and value.shape.rank in (None, 0):
        return value
    with graph.name_scope(scope):
        if value.shape.rank not in (None, 0):
            return greater(size(value), 0)
        return not_equal(value, "" if value.dtype is string else cast(0, value.dtype))


# Builds a branch in a scope with the given name, and returns its results.
_Branch = Callable[[str], list[Tensor]]


def _check_branches(functions: Sequence[PlannedFunction], passed: int) -> None:
    for function in functions:
        if len(function.arguments) != passed or len(function.results) != len(functions[0].results):
            raise ValueError(
                f"a branch takes {len(function.arguments)} values and returns {len(function.results)}, but "
                f"{passed} are passed, and all branches return as many"
            )


def _choice(
    op_type: str,
    predicate: Tensor,
    branches: Sequence[_Branch],
    full: str,
    graph: Graph,
    attrs: Mapping[str, Any] | None = None,
) -> tuple[Operation, list[Tensor]]:
    """Build an ``If`` with the two branches; one without results returns that it has run."""
    bodies, results = [], []
    with graph.name_scope(f"{full}/") as scope, ConstructBuilder(graph, scope, is_loop=False) as builder:
        for branch, name in zip(branches, ("_then", "_else"), strict=True):
            body = builder.function()
            bodies.append(body)
            with body.building():
                results.append(branch(f"{full}/{name}"))
                count = len(results[-1])
                if not count:
                    results[-1].append(ran(body.operations, graph))
        _check_dtypes(*results)
        op = builder.construct(op_type, [predicate], ("then_branch", "else_branch"), bodies, results, attrs)
    return op, list(op.outputs[:count])


def _case(node: Planned, index: Tensor, branches: Sequence[_Branch], full: str, graph: Graph) -> Operation:
    """Build a binary search among branches; any other number means the last one.

    Each ``If`` has how many branches there are, or 0 where it is a part, so that it is a ``Case`` in a file.
    """
    with graph.name_scope(f"{full}{SEARCH}"):
        index = where(less(index, 0), len(branches) - 1, index)

    def among(first: int, count: int, full: str) -> Operation:
        half = max(count // 2, 1)
        with graph.name_scope(f"{full}{SEARCH}"):
            predicate = less(index, first + half)
        lower, upper = part(first, half), part(first + half, count - half)
        mark = {CASE: len(branches) if count == len(branches) else 0}
        return _choice(node.type, predicate, (lower, upper), full, graph, mark)[0]

    def part(first: int, count: int) -> _Branch:
        if count > 1:
            return lambda name: list(among(first, count, name).outputs)
        return branches[min(first, len(branches) - 1)]

    return among(0, len(branches), full)


def _check_dtypes(first: Sequence[Tensor], second: Sequence[Tensor]) -> None:
    for one, other in zip(first, second, strict=True):
        if one.dtype is not other.dtype:
            raise ValueError(f"{one!r} and {other!r} are the same result of two branches, but differ in dtype")


def _loop(
    node: Planned,
    functions: Sequence[PlannedFunction],
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    call: CallFunction,
    numbered: bool,
) -> tuple[Operation, list[Tensor]]:
    condition, body = functions
    count = len(inputs)
    shapes = node.given.get("output_shapes") or (TensorShape(None),) * count
    if not len(condition.arguments) == len(body.arguments) == len(body.results) == count:
        raise ValueError(f"a loop over {count} variables, but its functions take or return other numbers of values")
    if len(shapes) != count:
        raise ValueError(f"a loop over {count} variables has {len(shapes)} output_shapes")
    if len(condition.results) != 1:
        raise ValueError(f"the condition of a loop must return one value, got {len(condition.results)}")
    # A value that every iteration returns unchanged is not a loop variable: it is captured. At the top of a
    # graph it stays one before others that change, so that outputs have their numbers.
    unchanged = [result == (body.arguments[at], 0) for at, result in enumerate(body.results)]
    last = max([0, *[at for at in range(count) if not unchanged[at]]])
    changing = [
        at for at in range(count) if not unchanged[at] or (numbered and at <= last and inputs[at].dtype is not resource)
    ]

    def all_of(variables: Sequence[Tensor]) -> list[Tensor]:
        values = list(inputs)
        for at, variable in zip(changing, variables, strict=False):
            values[at] = variable
        return values

    first = [inputs[at] for at in changing]
    shapes = [shapes[at] for at in changing]
    if not first:  # a loop only for its effects gets a variable that says that they have happened
        with graph.name_scope(f"{full}/_turn/"):
            first, shapes = [as_value(True, graph)], [scalar_shape]
    with graph.name_scope(f"{full}/") as scope, ConstructBuilder(graph, scope, is_loop=True) as builder:
        test, turn = builder.function(), builder.function()
        for function, name in ((test, "_cond"), (turn, "_body")):
            with function.building():
                for at, (value, shape) in enumerate(zip(first, shapes, strict=True)):
                    attrs = {"dtype": value.dtype, "shape": shape}
                    op = graph.create_op("Placeholder", (), attrs, f"{full}/{name}/_arg_{at}/")
                    function.parameters.append(op.outputs[0])
        with test.building():
            answer = call(condition, all_of(test.parameters), f"{full}/_cond")[0]
            goes_on = _truth(answer, graph, f"{full}/_cond/")
        with turn.building():
            results = call(body, all_of(turn.parameters), f"{full}/_body")
            values = [results[at] for at in changing] or [ran(turn.operations, graph)]
        _check_dtypes(first, values)
        _check_shapes(turn.parameters, values)
        op = builder.construct(node.type, first, ("cond", "body"), [test, turn], [[goes_on], values])
    return op, all_of(op.outputs)


def _check_shapes(variables: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for variable, value in zip(variables, values, strict=True):
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"{value!r} is the next value of a loop variable, which must have shape "
                f"{variable.shape} in each iteration"
            )


def ran(operations: Sequence[Operation], graph: Graph) -> Tensor:
    """Return a value that is there when operations have run."""
    with graph.control_dependencies(operations):
        return identity(as_value(True, graph))


def after(control: Sequence[Operation], results: Sequence[Tensor], graph: Graph) -> list[Tensor]:
    """Return the results, delayed until the operations that the function always runs have run."""
    if not control:
        return list(results)
    with graph.control_dependencies(control):
        return [identity(result) for result in results]
