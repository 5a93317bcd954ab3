"""Conversion of loops and branches in TensorFlow's form to ``While`` and ``If`` operations.

The functions are built as bodies of the functional control flow operation. The names of their nodes occur in
no file, so that all names of the file stay free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from actorsession.graph.function import IF, WHILE
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.interop.functions import CONSTRUCTS, PlannedFunction
from actorsession.interop.import_plan import Planned
from actorsession.ops import identity
from actorsession.ops.flow.constructs import ConstructBuilder, as_predicate

__all__ = ["CallFunction", "after", "build_construct"]

# Builds the nodes of a function from its arguments in a scope with the given name, and returns the results.
CallFunction = Callable[[PlannedFunction, Sequence[Tensor], str], list[Tensor]]


def build_construct(
    node: Planned,
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    library: Mapping[str, PlannedFunction],
    call: CallFunction,
) -> tuple[Operation, list[Tensor]]:
    """Build a loop or branch.

    Args:
        node: the node.
        inputs: its inputs.
        full: the full name of the node in the graph.
        graph: the graph.
        library: the functions of the file, by name.
        call: builds the nodes of a function.

    Returns:
        The operation, and the tensors that correspond to the node's outputs.

    Raises:
        ValueError: if a function is missing, or its number of arguments or results does not fit.
    """
    functions = [_function(node, key, library) for key in CONSTRUCTS[node.op]]
    if node.type == "If":
        return _branches(functions, inputs, full, graph, call)
    return _loop(node, functions, inputs, full, graph, call)


def _function(node: Planned, key: str, library: Mapping[str, PlannedFunction]) -> PlannedFunction:
    name = node.attrs[key]
    if name not in library:
        raise ValueError(f"function {name!r}, its attribute {key!r}, is not in the graph's library")
    return library[name]


def _branches(
    functions: Sequence[PlannedFunction],
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    call: CallFunction,
) -> tuple[Operation, list[Tensor]]:
    for function in functions:
        if len(function.arguments) != len(inputs) - 1 or not function.results:
            raise ValueError(
                f"a branch takes {len(function.arguments)} values and returns "
                f"{len(function.results)}, but {len(inputs) - 1} are passed, and it must "
                "return at least one"
            )
    bodies, results = [], []
    with (
        graph.name_scope(f"{full}/") as scope,
        ConstructBuilder(graph, scope, is_loop=False) as builder,
    ):
        predicate = as_predicate(inputs[0], graph, "what a branch depends on")
        for function, name in zip(functions, ("_then", "_else"), strict=True):
            bodies.append(builder.function())
            with bodies[-1].building():
                results.append(call(function, inputs[1:], f"{full}/{name}"))
        _check_dtypes(*results)
        op = builder.construct(IF, [predicate], ("then_branch", "else_branch"), bodies, results)
    return op, list(op.outputs)


def _check_dtypes(first: Sequence[Tensor], second: Sequence[Tensor]) -> None:
    for one, other in zip(first, second, strict=True):
        if one.dtype is not other.dtype:
            raise ValueError(
                f"{one!r} and {other!r} are the same result of two branches, but differ in dtype"
            )


def _loop(
    node: Planned,
    functions: Sequence[PlannedFunction],
    inputs: Sequence[Tensor],
    full: str,
    graph: Graph,
    call: CallFunction,
) -> tuple[Operation, list[Tensor]]:
    condition, body = functions
    count = len(inputs)
    shapes = node.given.get("output_shapes") or (TensorShape(None),) * count
    if not len(condition.arguments) == len(body.arguments) == len(body.results) == count:
        raise ValueError(
            f"a loop over {count} variables, but its functions take or return other "
            "numbers of values"
        )
    if len(shapes) != count:
        raise ValueError(f"a loop over {count} variables has {len(shapes)} output_shapes")
    if len(condition.results) != 1:
        raise ValueError(
            f"the condition of a loop must return one value, got {len(condition.results)}"
        )
    # A value that every iteration returns unchanged is not a loop variable: it is captured.
    changing = [at for at, result in enumerate(body.results) if result != (body.arguments[at], 0)]

    def all_of(variables: Sequence[Tensor]) -> list[Tensor]:
        values = list(inputs)
        for at, variable in zip(changing, variables, strict=True):
            values[at] = variable
        return values

    first = [inputs[at] for at in changing]
    with (
        graph.name_scope(f"{full}/") as scope,
        ConstructBuilder(graph, scope, is_loop=True) as builder,
    ):
        test, turn = builder.function(), builder.function()
        for function, name in ((test, "_cond"), (turn, "_body")):
            with function.building():
                for at in changing:
                    attrs = {"dtype": inputs[at].dtype, "shape": shapes[at]}
                    op = graph.create_op("Placeholder", (), attrs, f"{full}/{name}/_arg_{at}/")
                    function.parameters.append(op.outputs[0])
        with test.building():
            answer = call(condition, all_of(test.parameters), f"{full}/_cond")[0]
            goes_on = as_predicate(answer, graph, "the condition of a loop")
        with turn.building():
            results = call(body, all_of(turn.parameters), f"{full}/_body")
            values = [results[at] for at in changing]
        _check_dtypes(first, values)
        _check_shapes(turn.parameters, values)
        op = builder.construct(WHILE, first, ("cond", "body"), [test, turn], [[goes_on], values])
    return op, all_of(op.outputs)


def _check_shapes(variables: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for variable, value in zip(variables, values, strict=True):
        if not variable.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"{value!r} is the next value of a loop variable, which must have shape "
                f"{variable.shape} in each iteration"
            )


def after(control: Sequence[Operation], results: Sequence[Tensor], graph: Graph) -> list[Tensor]:
    """Return the results, delayed until the operations that the function always runs have run."""
    if not control:
        return list(results)
    with graph.control_dependencies(control):
        return [identity(result) for result in results]
