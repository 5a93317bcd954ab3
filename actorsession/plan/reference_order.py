"""The order in which a step reads and writes its reference variables, where the graph leaves it open.

Nothing orders two updates of one variable in one run, or an update and a value that is read beside it, unless
the program does. TensorFlow's executor comes to the shallow nodes before the deep; whoever uses a value of a
reference variable sees what is in the variable's memory at that moment. ``order_references`` writes one such
order into the step, the same wherever its nodes are placed and in whatever order they are fetched:

- Accesses of a variable are ordered by the depth of the node that accesses it: the longest path of nodes that
  lead to it. At one depth they are in the order of the graph.
- A copy that shares memory (``Identity``, ``Reshape``, ...) is no access; whoever uses it is one.
- What an assignment alone computes from its own variable is read when the writers before it have written,
  so that no update is lost. An update (``AssignAdd``, ``ApplyAdam``, ...) changes what is there in any case.
- What is fetched is read last.

``GraphExecutionState`` calls this for plain steps. A partial run has no end at which all its writers have
run, so what is open there stays open. Nodes of primitive control flow may be dead: nothing waits for them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from actorsession.graph.function import CONSTRUCTS, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.fetched_reads import VARIABLE_READS, in_raw_control_flow
from actorsession.plan.prune import StepGraph, in_order
from actorsession.plan.references import BY_REFERENCE, READ, needed, producers
from actorsession.plan.wiring import Ref

__all__ = ["order_references"]

# What they write does not depend on what was there.
_ASSIGNS = frozenset(
    {"AssignVariableOp", "ResourceScatterNdUpdate", "ResourceScatterUpdate", "ResourceStridedSliceAssign"}
)
# Their results share memory with their first input.
_COPIES = frozenset({"ExpandDims", "Identity", "PreventGradient", "Reshape", "Squeeze", "StopGradient"})


def order_references(graph: StepGraph) -> StepGraph:
    """Return a step whose accesses of each reference variable have one order.

    Args:
        graph: what a run needs, producers first, without references (``with_handles``).

    Returns:
        The graph; the argument itself if nothing in it was open.
    """
    nodes = graph.nodes
    writers: dict[Ref, list[str]] = {(name, 0): [] for name, node in nodes.items() if BY_REFERENCE in node.attrs}
    if not writers:
        return graph
    raw = in_raw_control_flow(nodes)
    for name, node in nodes.items():
        references = {ref for ref in node.inputs if ref in writers}
        if references and name not in raw and _writes(node):
            for ref in references:
                writers[ref].append(name)
    if not any(writers.values()):
        return graph
    return _Order(graph, {handle: references for handle, references in writers.items() if references}, raw).ordered()


def _writes(node: NodeDef) -> bool:
    """Return whether a node that takes handles may write to their variables."""
    if node.op not in CONSTRUCTS:
        return node.op not in VARIABLE_READS
    return any(
        takes and inner.op not in CONSTRUCTS and inner.op not in VARIABLE_READS for inner, takes in nodes_inside(node)
    )


class _Order:
    """The accesses of the variables of one step that are written to.

    Args:
        graph: the step.
        writers: the nodes that may write to each variable, by the output that gives its handle.
        raw: the nodes that may be dead or run repeatedly.
    """

    def __init__(self, graph: StepGraph, writers: Mapping[Ref, Sequence[str]], raw: Container[str]) -> None:
        self._graph, self._raw = graph, raw
        self._made = dict(graph.nodes)
        depth = _depths(graph.nodes)
        self._key = {name: (depth[name], place) for place, name in enumerate(graph.nodes)}
        self._writers = {handle: sorted(found, key=self._key.__getitem__) for handle, found in writers.items()}
        found = dict.fromkeys(itertools.chain.from_iterable(self._writers.values()))
        self._bits = {name: 1 << index for index, name in enumerate(found)}
        # By node, as masks: the writers on which it depends, and those that depend on it.
        self._after = dict.fromkeys(graph.nodes, 0)
        self._before = dict.fromkeys(graph.nodes, 0)
        for name, node in graph.nodes.items():
            mask = self._bits.get(name, 0)
            for producer in producers(node):
                mask |= self._after[producer]
            self._after[name] = mask
        for name, node in reversed([*graph.nodes.items()]):
            mask = self._before[name] | self._bits.get(name, 0)
            for producer in producers(node) if mask else ():
                self._before[producer] |= mask
        # Outputs that are a variable's value as long as nobody writes to it, with its handle.
        self._values: dict[Ref, Ref] = {}
        self._waits: dict[str, list[str]] = {}

    def ordered(self) -> StepGraph:
        """Return the step with its accesses in order."""
        graph = self._graph
        for writers in self._writers.values():
            for before, after in itertools.pairwise(writers):
                self._wait(before, after)
        late = self._assigned_alone()
        for name, node in graph.nodes.items():
            if name in self._raw or not node.inputs:
                continue
            first = node.inputs[0]
            if node.op == "ReadVariableOp" and first in self._writers:
                self._values[name, 0] = first
            elif node.op in _COPIES and first in self._values:
                self._values[name, 0] = self._values[first]
            else:
                self._use(name, late)
        used = {name for node in self._made.values() for name in producers(node)}
        fetches = tuple([self._fetched(ref, used) for ref in graph.fetches])
        for name, waits in self._waits.items():
            node = self._made[name]
            control = tuple(dict.fromkeys([*node.control_inputs, *waits]))
            self._made[name] = replace(node, control_inputs=control)
        if self._made == graph.nodes:
            return graph
        nodes = needed(self._made, [*[name for name, _ in fetches], *graph.targets])
        return replace(graph, nodes=in_order(nodes, nodes), fetches=fetches)

    def _wait(self, first: str, second: str) -> None:
        """Let a node run after another, one of which is a writer, if it does not in any case."""
        bits = self._bits
        known = self._before[first] & bits.get(second, 0) or self._after[second] & bits.get(first, 0)
        if not known:
            self._waits.setdefault(second, []).append(first)

    def _version(self, handle: Ref, name: str) -> int:
        """Return how many writers of a variable come before a node."""
        return bisect.bisect_left(self._writers[handle], self._key[name], key=self._key.__getitem__)

    def _assigned_alone(self) -> dict[tuple[str, Ref], int]:
        """Return the versions of variables for the nodes that only an assignment of that variable needs."""
        nodes, late = self._graph.nodes, dict[tuple[str, Ref], int]()
        assigned = [
            (handle, index, writer)
            for handle, found in self._writers.items()
            for index, writer in enumerate(found)
            if index and nodes[writer].op in _ASSIGNS
        ]
        if not assigned:
            return late
        users: dict[str, set[str]] = {name: set() for name in nodes}
        for name, node in nodes.items():
            for producer in producers(node):
                users[producer].add(name)
        ends = {*[name for name, _ in self._graph.fetches], *self._graph.targets, *self._bits}
        for handle, index, writer in assigned:
            alone, waiting = {writer}, [writer]
            while waiting:
                name = waiting.pop()
                late[name, handle] = index
                for producer, _ in nodes[name].inputs:
                    is_end = producer in ends or nodes[producer].op in VARIABLE_READS
                    if producer not in alone and not is_end and users[producer] <= alone:
                        alone.add(producer)
                        waiting.append(producer)
        return late

    def _use(self, name: str, late: Mapping[tuple[str, Ref], int]) -> None:
        """Let a node use variables as they are when it runs."""
        node = self._made[name]
        inputs = list(node.inputs)
        for place, ref in enumerate(inputs):
            if ref in self._values:
                handle = self._values[ref]
                version = late.get((name, handle))
                inputs[place] = self._at(ref, self._version(handle, name) if version is None else version, name)
            elif ref in self._writers and name not in self._writers[ref]:
                self._read_between(name, ref)
        if tuple(inputs) != node.inputs:
            self._made[name] = replace(node, inputs=tuple(inputs))

    def _fetched(self, ref: Ref, used: Container[str]) -> Ref:
        """Return the output to fetch; ``read_variables_last`` takes care of a read that nothing uses."""
        if ref not in self._values:
            return ref
        node = self._graph.nodes[ref[0]]
        if node.op == "ReadVariableOp" and ref[0] not in used and not node.control_inputs:
            return ref
        return self._at(ref, len(self._writers[self._values[ref]]))

    def _at(self, ref: Ref, version: int, user: str = "") -> Ref:
        """Return the output that gives a user the value of a variable after so many of its writers."""
        node = self._graph.nodes[ref[0]]
        if node.op != "ReadVariableOp":
            first = self._at(node.inputs[0], version, user)
            if first == node.inputs[0]:
                return ref
            inputs, control = (first, *node.inputs[1:]), node.control_inputs
        else:
            inputs, control = node.inputs, node.control_inputs
            writers = self._writers[self._values[ref]]
            if version and not self._after[node.name] & self._bits[writers[version - 1]]:
                control = (*control, writers[version - 1])
            read = node.name if control == node.control_inputs else f"_at/{version}/{node.name}"
            # A read of the graph may come first for another user already.
            known = self._before.get(node.name if read == node.name else user, 0) | self._bits.get(user, 0)
            if version < len(writers) and not known & self._bits[writers[version]]:
                self._waits.setdefault(writers[version], []).append(read)
            if read == node.name:
                return ref
        name = f"_at/{version}/{node.name}"
        moved = replace(node, name=name, inputs=inputs, control_inputs=control, device="")
        self._made.setdefault(name, moved)
        return name, 0

    def _read_between(self, name: str, handle: Ref) -> None:
        """Let a node that takes a handle and does not write run between two writers."""
        writers, version = self._writers[handle], self._version(handle, name)
        if version:
            self._wait(writers[version - 1], name)
        if version < len(writers):
            self._wait(name, writers[version])


def _depths(nodes: Mapping[str, NodeDef]) -> dict[str, int]:
    """Return the longest path of nodes that leads to each node.

    A part that is constant has no depth. What depends on a node that suspends is deeper than all that does
    not: it may have to wait for the rest of the step.
    """
    depth: dict[str, int] = {}
    constant: set[str] = set()
    for name, node in nodes.items():
        known = lookup(node.op) if is_registered(node.op) else None
        before = producers(node)
        depth[name] = max([depth.get(producer, 0) for producer in before], default=-1) + 1
        if known is None:
            continue
        if (before or known.once) and not known.stateful and constant.issuperset(before):
            constant.add(name)
            depth[name] = 0
        elif known.suspends:
            depth[name] += len(nodes)
        elif node.op in CONSTRUCTS:
            depth[name] += sum(1 for _ in nodes_inside(node))
        elif name.startswith(READ):  # TensorFlow has no node there
            depth[name] -= 1
    return depth
