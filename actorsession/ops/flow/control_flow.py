"""Loops and branches: ``while_loop`` and ``cond``.

The user's functions are called once to build the bodies, which are attributes of the node as functions (see
``graph/function``). The plan compiler turns them into Python's ``while`` and ``if``. Names follow TensorFlow
1: an operation of a body is named under the loop or branch, ``while/add``. Each result is a separate
operation, ``while/Exit``, ``while/Exit_1`` or ``cond/Merge``, so that a run that fetches one loop variable
computes only what that variable needs.

A functional control flow operation runs whole on one device: the device that it requests, or that its body
requests, and in any case the device of the variables that its body uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.errors import WrongDtypeError
from actorsession.graph.function import BRANCHES, IF, LOOPS, WHILE, FunctionBody
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make_one
from actorsession.ops.elements.arithmetic import add
from actorsession.ops.elements.comparison import less, logical_and
from actorsession.ops.flow.branch_gradients import if_gradient
from actorsession.ops.flow.constructs import GRADIENTS, ConstructBuilder, as_predicate, as_value, check_no_resource
from actorsession.ops.flow.loop_gradients import while_gradient
from actorsession.ops.shape_operands import fits_always
from actorsession.ops.structures import about_leaves, check_same_structure, flatten, is_nested, pack, varying_shapes

__all__ = ["cond", "while_loop"]

for _types, _gradient in ((BRANCHES, if_gradient), (LOOPS, while_gradient)):
    for _type in _types:
        GRADIENTS.fill(_type, _gradient)


# -- cond ----------------------------------------------------------------------------------------


def cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], strict: bool = False, name: str | None = None
) -> Any:
    """Return the results of ``true_fn`` if ``pred`` is true, else those of ``false_fn``.

    Only operations that the functions build are conditional; operations that were built before always run.

    Args:
        pred: a bool scalar.
        true_fn: builds a structure of values; called once, immediately. An operation stands for ``True`` once
            it has run.
        false_fn: builds a structure of the same form and dtypes.
        strict: whether a list or tuple of one value is returned as such.
        name: wanted name; ``cond`` if left out.

    Returns:
        The structure with tensors as leaves.

    Raises:
        TypeError: if ``pred`` is a Python bool or not a bool tensor, an argument is not a function, or the
            results differ in the types of their sequences.
        ValueError: if ``pred`` cannot be a scalar, or the results differ in structure or dtype, or are
            missing.
    """
    for function, argument in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"'{argument}' must be callable. cond: got {function!r:.100}")
    if isinstance(pred, bool):
        raise TypeError(f"'pred' must not be a Python bool. cond: got {pred}: use if instead")
    graph = graph_of(pred)
    with (
        graph.as_default(),
        graph.name_scope(name or "cond") as scope,
        ConstructBuilder(graph, scope, is_loop=False) as builder,
    ):
        predicate = as_predicate(pred, graph, "cond: pred")
        structures, bodies, results = [], [], []
        for function, argument in ((true_fn, "true_fn"), (false_fn, "false_fn")):
            body = builder.function()
            with body.building():
                returned = _branch_results(function(), f"cond: {argument}", strict)
                results.append([as_value(leaf, graph) for leaf in flatten(returned)])
            structures.append(returned)
            bodies.append(body)
        _check_branches(structures, results)
        op = builder.construct(IF, [predicate], ("then_branch", "else_branch"), bodies, results)
        merged = [raw.Identity(t, name="Merge") for t in op.outputs]
    return pack(structures[0], merged)


def _branch_results(returned: Any, what: str, strict: bool) -> Any:
    if returned is None or not flatten(returned):
        raise ValueError(f"{what} must return at least one value, got {returned!r}")
    if not strict and type(returned) in (list, tuple) and len(returned) == 1:
        return returned[0]
    return returned


def _check_branches(structures: Sequence[Any], results: Sequence[Sequence[Tensor]]) -> None:
    check_same_structure(structures[0], structures[1], "the results of true_fn and false_fn")
    for first, second in zip(*results, strict=True):
        if first.dtype is not second.dtype:
            raise WrongDtypeError(
                f"Outputs of 'true_fn' and 'false_fn' must have the same type(s): {first!r} and {second!r}"
            )
        check_no_resource(first, "cond returns")


# -- while_loop ----------------------------------------------------------------------------------


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    back_prop: bool = True,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``body`` while ``cond`` is true.

    Args:
        cond: a function of the loop variables that returns a bool scalar; called once, immediately.
        body: a function of the loop variables that returns their next values in the same structure; called
            once, immediately.
        loop_vars: a list, tuple or named tuple of first values, which may be structures themselves.
        shape_invariants: the static shape of each variable in all iterations, a structure of ``TensorShape``
            like ``loop_vars``; the shapes of the first values if left out.
        back_prop: whether gradients flow through the loop.
        name: wanted name; ``while`` if left out.
        maximum_iterations: an int scalar: the loop ends after so many iterations whatever ``cond`` says.
        return_same_structure: whether a single value is returned in the list of the loop variables.

    Returns:
        The last values in the structure of ``loop_vars``; a single one without its list.

    Raises:
        TypeError: if an argument is not a function, a variable changes its dtype, the condition is not bool,
            or structures differ in the types of their sequences.
        ValueError: if there are no loop variables, structures differ, or a variable changes its shape
            although no shape invariant allows it.
    """
    for function, argument in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"'{argument}' must be callable. while_loop: got {function!r:.100}")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(f"while_loop: loop_vars is a list, tuple or named tuple, got {type(loop_vars).__name__}")
    if not flatten(loop_vars):
        raise ValueError("'loop_vars' must be provided. while_loop: a loop without any never ends")
    graph = graph_of(*flatten(loop_vars), maximum_iterations)
    with graph.as_default(), graph.name_scope(name or "while") as scope:
        loop = _Loop(graph, scope, loop_vars, shape_invariants, maximum_iterations)
        with loop.builder:
            exits = loop.build(cond, body, "Identity" if back_prop else "StopGradient")
    if len(loop_vars) == len(exits) == 1 and not return_same_structure:
        return pack(loop_vars[0], exits)
    return pack(loop_vars, exits)


class _Loop:
    """A loop under construction.

    Args:
        graph: the graph.
        scope: the loop's name scope.
        loop_vars: the first values.
        invariants: see ``while_loop``.
        maximum: the largest number of iterations, if there is one.
    """

    def __init__(self, graph: Graph, scope: str, loop_vars: Any, invariants: Any, maximum: Any) -> None:
        self.graph = graph
        self.loop_vars = loop_vars
        self.builder = ConstructBuilder(graph, scope, is_loop=True)
        self.first = [convert_to_tensor(leaf, graph=graph) for leaf in flatten(loop_vars)]
        for tensor in self.first:
            check_no_resource(tensor, "while_loop: a loop variable is")
        self.shapes = self._invariants(invariants)
        self.maximum = None if maximum is None else _maximum(maximum, graph)
        if self.maximum is not None:  # another variable, in front of the user's
            zero = constant(0, self.maximum.dtype, name="iteration_counter", graph=graph)
            self.first.insert(0, zero)
            self.shapes.insert(0, scalar_shape)

    def _invariants(self, invariants: Any) -> list[TensorShape]:
        varying = varying_shapes(self.loop_vars)
        entering = [t.shape if shape is None else shape for t, shape in zip(self.first, varying, strict=True)]
        if invariants is None:
            return entering
        said = about_leaves(self.loop_vars, invariants, "loop_vars and shape_invariants")
        shapes = []
        for tensor, known, leaf in zip(self.first, entering, said, strict=True):
            if leaf is not None and not isinstance(leaf, TensorShape):
                raise TypeError(
                    "while_loop: shape_invariants has a TensorShape, or None for the shape that the "
                    f"variable enters with, for each loop variable; got {leaf!r:.100}"
                )
            shape = known if leaf is None else leaf
            if not fits_always(shape, tensor.shape):
                raise ValueError(
                    f"while_loop: {tensor!r} enters the loop with shape {tensor.shape}; its shape "
                    f"invariant {shape} does not allow that"
                )
            shapes.append(shape)
        return shapes

    def build(self, cond: Callable[..., Any], body: Callable[..., Any], out: str) -> list[Tensor]:
        """Build the functions and the node, and return the user's variables after the loop.

        Args:
            cond: see ``while_loop``.
            body: see ``while_loop``.
            out: type of the operations that return the variables.
        """
        counted = int(self.maximum is not None)
        test, turn = self.builder.function(), self.builder.function()
        with test.building():
            goes_on = self._condition(cond, self._enter(test))
        with turn.building():
            values = self._next_values(body, self._enter(turn))
        op = self.builder.construct(WHILE, self.first, ("cond", "body"), [test, turn], [[goes_on], values])
        # As in TensorFlow, the count of iterations is a loop variable of its own, and the first.
        names = [f"Exit_{i}" if i else "Exit" for i in range(len(op.outputs))]
        ended = list(zip(op.outputs, names, strict=True))[counted:]
        return [make_one(out, [t], name=name) for t, name in ended]

    def _enter(self, function: FunctionBody) -> list[Tensor]:
        """Return the parameters for the loop variables in a function."""
        for tensor, shape in zip(self.first, self.shapes, strict=True):
            attrs = {"dtype": tensor.dtype, "shape": shape}
            function.parameters.append(make_one("Placeholder", (), attrs, "Identity", self.graph))
        function.starts = self.first
        return list(function.parameters)

    def _condition(self, cond: Callable[..., Any], variables: list[Tensor]) -> Tensor:
        counter = variables.pop(0) if self.maximum is not None else None
        answer = cond(*pack(self.loop_vars, variables))
        goes_on = as_predicate(answer, self.graph, "while_loop: the result of cond")
        if counter is None:
            return goes_on
        return logical_and(less(counter, self.maximum), goes_on)

    def _next_values(self, body: Callable[..., Any], variables: list[Tensor]) -> list[Tensor]:
        counter = variables.pop(0) if self.maximum is not None else None
        returned = body(*pack(self.loop_vars, variables))
        if len(self.loop_vars) == 1 and not is_nested(returned):
            returned = [returned]
        check_same_structure(self.loop_vars, returned, "loop_vars and the result of body", same_types=False)
        values = [as_value(leaf, self.graph) for leaf in flatten(returned)]
        if counter is not None:
            values.insert(0, add(counter, 1))
        for first, shape, value in zip(self.first, self.shapes, values, strict=True):
            _check_next(first, shape, value)
        return values


def _check_next(first: Tensor, shape: TensorShape, value: Tensor) -> None:
    if value.dtype is not first.dtype:
        raise TypeError(
            f"while_loop: {first!r} enters the loop with dtype {first.dtype.name} and has "
            f"{value.dtype.name} after one iteration"
        )
    if not fits_always(shape, value.shape):
        raise ValueError(
            f"while_loop: {first!r} enters the loop with shape {first.shape} and has shape {value.shape} "
            f"after one iteration, where {shape} is expected. To let the shape vary, give "
            "shape_invariants with a less specific one"
        )


def _maximum(value: Any, graph: Graph) -> Tensor:
    maximum = convert_to_tensor(value, name="maximum_iterations", graph=graph)
    if not maximum.dtype.is_integer:
        raise TypeError(f"while_loop: maximum_iterations is an integer scalar, got {maximum.dtype.name}")
    if maximum.shape.rank not in (None, 0):
        raise ValueError(f"while_loop: maximum_iterations is a scalar, got one of shape {maximum.shape}")
    return maximum
