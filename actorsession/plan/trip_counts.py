"""Which nodes do the same amount of work in every run of a plan, so that a measured time predicts the next.

Code whose time was measured may run on an event loop if it was short. A loop that counts to a fed number, and
an op whose result is as large as a fed number (``OpDef.sized_by``), can be short once and very long the next
time, so no measurement of them counts. A loop whose condition depends on constants alone runs the same number
of iterations each time. ``segment_writer`` uses this for the nodes of its segment. Inputs of the partition,
stateful operations and operations that call the user's code can differ from run to run.

The analysis is one graph of values over all functions, at any depth of nesting. It has an edge from each
value to the values computed from it, and an edge from every value that decides how often something in a loop
or branch is repeated to the mark of that loop or branch. Every value that is reachable from one that can
differ can differ, so the pass is linear in the nodes. Sizes have marks of their own, reached by the same
edges except through the shapes of tensors: a result as large as an existing tensor costs what the sizes of
the inputs allow.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.function import (
    ARGUMENT,
    BRANCHES,
    CALLS,
    CONSTRUCTS,
    LOOPS,
    FunctionDef,
    entering,
    functions_of,
)
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup

__all__ = ["nodes_of_varying_cost", "sizing"]

_Names = dict[tuple[str, int], int]
# The results of these are bounded by the sizes of their inputs, whatever their values.
_OF_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size"})


def nodes_of_varying_cost(nodes: Sequence[NodeDef]) -> frozenset[str]:
    """Return the nodes whose amount of work may differ between runs, for inputs of the same sizes.

    These are loops and branches in which something may be repeated another number of times, and ops the size
    of whose results is given by a value that may differ.

    Args:
        nodes: of a partition, producers first.

    Returns:
        Names of nodes; loops inside others count with the outermost.
    """
    values = _Values()
    repeats: dict[str, int] = {}
    sizes: dict[str, int] = {}
    names: _Names = {}
    for node in nodes:
        mark = None
        sizes[node.name] = values.outer = values.new()
        if node.op in CONSTRUCTS:
            mark = repeats[node.name] = values.new()
        values.add(node, names, mark)
    varying, growing = values.varying(), values.varying(through_shapes=False)
    varied = [name for name, mark in repeats.items() if varying[mark]]
    return frozenset([*varied, *[name for name, mark in sizes.items() if growing[mark]]])


class _Values:
    """The values of a partition and its functions, as numbers, with the values computed from each."""

    def __init__(self) -> None:
        self._readers: list[list[int]] = []
        self._sources: list[int] = []  # values that can differ by themselves
        self._of_shapes: set[int] = set()
        self.outer = 0  # the size mark of the outermost node that is or contains the next one

    def new(self, *made_of: int) -> int:
        """Return the number of a new value that is computed from others."""
        number = len(self._readers)
        self._readers.append([])
        for other in made_of:
            self._readers[other].append(number)
        return number

    def add(self, node: NodeDef, names: _Names, mark: int | None) -> None:
        """Register a node of a partition or function.

        Args:
            node: the node.
            names: the values around it by producer and output; those of the node are added.
            mark: of the outermost loop or branch that it is or is inside of.
        """
        inputs = [names[ref] for ref in node.inputs]
        if mark is not None and node.op in LOOPS:
            outputs = self._add_loop(node, inputs, mark)
        elif mark is not None and node.op in BRANCHES:
            outputs = self._add_branch(node, inputs, mark)
        elif mark is not None and node.op in CALLS:
            (function,) = functions_of(node)
            outputs = self._add_function(function, inputs[CALLS[node.op] :], mark)
        else:
            number = self.new(*inputs)
            if _can_differ(node):
                self._sources.append(number)
            if node.op in _OF_SHAPES:
                self._of_shapes.add(number)
            for k in sizing(node):
                self._readers[inputs[k]].append(self.outer)
            outputs = [number] * len(node.outputs)
        for index, value in enumerate(outputs):
            names[node.name, index] = value

    def _add_loop(self, node: NodeDef, inputs: list[int], mark: int) -> list[int]:
        cond, body = functions_of(node)
        count, given = len(node.outputs), entering(node)
        variables = [self.new(first) for first in inputs[:given]]
        variables += [self.new() for _ in range(given, count)]
        arguments = [*variables, *inputs[given:]]
        (goes_on,) = self._add_function(cond, arguments, mark)
        self._readers[goes_on].append(mark)
        for variable, value in zip(variables, self._add_function(body, arguments, mark), strict=True):
            self._readers[value].append(variable)
        return [self.new(variable, goes_on) for variable in variables]

    def _add_branch(self, node: NodeDef, inputs: list[int], mark: int) -> list[int]:
        functions = functions_of(node)
        if any(_repeats(function) for function in functions):
            self._readers[inputs[0]].append(mark)
        results = [self._add_function(function, inputs[1:], mark) for function in functions]
        return [self.new(inputs[0], *values) for values in zip(*results, strict=True)]

    def _add_function(self, function: FunctionDef, arguments: list[int], mark: int) -> list[int]:
        names = {(ARGUMENT, k): value for k, value in enumerate(arguments)}
        for node in function.nodes:
            self.add(node, names, mark)
        return [names[ref] for ref in function.outputs]

    def varying(self, *, through_shapes: bool = True) -> Sequence[bool]:
        """Return for each value whether it can differ from run to run.

        Args:
            through_shapes: whether the shape of a tensor that can differ can differ as well.
        """
        varying = [False] * len(self._readers)
        waiting = list(self._sources)
        while waiting:
            value = waiting.pop()
            if not varying[value] and (through_shapes or value not in self._of_shapes):
                varying[value] = True
                waiting.extend(self._readers[value])
        return varying


def _can_differ(node: NodeDef) -> bool:
    """Return whether a node may compute different results from the same inputs, as planner nodes may."""
    if not is_registered(node.op):
        return True
    definition = lookup(node.op)
    return definition.stateful or definition.blocks


def sizing(node: NodeDef) -> Sequence[int]:
    """Return the positions of inputs that decide the size of a node's results."""
    if not is_registered(node.op):
        return ()
    sized_by = lookup(node.op).sized_by
    return [k for k in range(len(node.inputs)) if k in sized_by]


def _repeats(function: FunctionDef) -> bool:
    """Return whether a function contains a loop."""
    return any(node.op in LOOPS or any(_repeats(inner) for inner in functions_of(node)) for node in function.nodes)
