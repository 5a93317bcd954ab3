"""Whether a loop runs as often in every run of a plan, so that the time it once took says what it will take.

Code whose time was measured may run on an event loop if it was short. A loop that counts to a fed number
can be short now and take for ever next time, so nothing that was measured of it counts. One whose
condition is made of constants alone runs as often each time. ``writer`` asks about the loops and branches
of its segment; what comes in, what has state and what calls the user's code can differ from run to run.

The theory is one graph of values over all functions, however deep: an edge from each value to what is made
of it, and to the mark of a loop or branch from whatever decides how often something in it is repeated.
What can be reached from a value that can differ can differ, so the pass is linear in the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.function import (
    ARGUMENT,
    CALLS,
    CONSTRUCTS,
    IF,
    WHILE,
    FunctionDef,
    entering,
    functions_of,
)
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup

__all__ = ["varying_constructs"]

_Names = dict[tuple[str, int], int]


def varying_constructs(nodes: Sequence[NodeDef]) -> frozenset[str]:
    """The loops and branches in which something may be repeated another number of times in another run.

    Args:
        nodes: of a partition, producers first.

    Returns:
        Names of nodes; loops inside others count with the outermost.
    """
    values = _Values()
    marks: dict[str, int] = {}
    names: _Names = {}
    for node in nodes:
        mark = None
        if node.op in CONSTRUCTS:
            mark = marks[node.name] = values.new()
        values.add(node, names, mark)
    varying = values.varying()
    return frozenset([name for name, mark in marks.items() if varying[mark]])


class _Values:
    """The values of a partition and of the functions in it, as numbers, and what is made of each."""

    def __init__(self) -> None:
        self._readers: list[list[int]] = []
        self._sources: list[int] = []  # values that can differ by themselves

    def new(self, *made_of: int) -> int:
        """A value that is made of others."""
        number = len(self._readers)
        self._readers.append([])
        for other in made_of:
            self._readers[other].append(number)
        return number

    def add(self, node: NodeDef, names: _Names, mark: int | None) -> None:
        """Takes in a node of a partition or function.

        Args:
            node: the node.
            names: the values around it by producer and output; gets those of the node.
            mark: of the outermost loop or branch that it is or is inside of.
        """
        inputs = [names[ref] for ref in node.inputs]
        if mark is not None and node.op == WHILE:
            outputs = self._add_loop(node, inputs, mark)
        elif mark is not None and node.op == IF:
            outputs = self._add_branch(node, inputs, mark)
        elif mark is not None and node.op in CALLS:
            (function,) = functions_of(node)
            outputs = self._add_function(function, inputs[CALLS[node.op] :], mark)
        else:
            made = self.new(*inputs)
            if _can_differ(node):
                self._sources.append(made)
            outputs = [made] * len(node.outputs)
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
        for variable, value in zip(
            variables, self._add_function(body, arguments, mark), strict=True
        ):
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

    def varying(self) -> Sequence[bool]:
        """Whether each value can differ from run to run."""
        found = [False] * len(self._readers)
        waiting = list(self._sources)
        while waiting:
            value = waiting.pop()
            if not found[value]:
                found[value] = True
                waiting.extend(self._readers[value])
        return found


def _can_differ(node: NodeDef) -> bool:
    """Whether a node may make something else of the same inputs: what only planners know comes in."""
    if not is_registered(node.op):
        return True
    definition = lookup(node.op)
    return definition.stateful or definition.blocks


def _repeats(function: FunctionDef) -> bool:
    """Whether a loop is in a function."""
    return any(
        node.op == WHILE or any(_repeats(inner) for inner in functions_of(node))
        for node in function.nodes
    )
