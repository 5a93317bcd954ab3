"""Loops and branches over several devices: functional nodes become primitive ones, which may be spread.

A ``While`` or ``If`` is compiled into one function of one device. Where the nodes inside, or the variables
that they use, are requested for several devices, ``spread`` writes it out as Enter, Merge, Switch,
NextIteration and Exit, as TensorFlow 1 builds it; placement and partitioning then treat its nodes like any
others. An ``IdentityN`` with the name of the construct passes its results on. ``GraphExecutionState`` calls
this with the nodes that a graph gains.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.graph.dtypes import bool_, int32, resource
from actorsession.graph.function import (
    ARGUMENT,
    CONTROL_FLOW,
    LOOPS,
    FunctionDef,
    entering,
    function_fault,
    nodes_inside,
)
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.shape import scalar_shape
from actorsession.plan.abandonment import check_wanted
from actorsession.plan.wiring import Ref

__all__ = ["spread"]

_FLAG, _INDEX = TensorSpec(bool_, scalar_shape), TensorSpec(int32, scalar_shape)
_PARALLEL = 10


def spread(nodes: Mapping[str, NodeDef], known: Mapping[str, NodeDef]) -> Mapping[str, NodeDef]:
    """Return nodes with the loops and branches over several devices written out.

    Args:
        nodes: those that a graph gains, by name.
        known: those that it has.

    Returns:
        The nodes; the argument itself if there is nothing to write out.
    """
    waiting = [node for node in nodes.values() if _spans(node, nodes, known)]
    if not waiting:
        return nodes
    result = dict(nodes)
    while waiting:
        node = waiting.pop()
        written = list(_Writer(node, {**known, **result}).written())
        del result[node.name]
        for each in written:
            result[each.name] = each
            if _spans(each, result, known):
                waiting.append(each)
    return result


def _spans(node: NodeDef, nodes: Mapping[str, NodeDef], known: Mapping[str, NodeDef]) -> bool:
    """Return whether a loop or branch has to be on several devices, and can be."""
    if node.op not in CONTROL_FLOW or function_fault(node) is not None:
        return False
    if not node.outputs or (node.op in LOOPS and entering(node) < len(node.outputs)):
        return False  # what its gradient collects begins empty, which only the functional form can say
    # Nodes that use a variable follow it, and may take the whole loop with them.
    requests = {inner.device for inner, follows in nodes_inside(node) if not follows}
    homes = {_home(name, nodes, known) for name, _ in node.inputs}
    return _disagree(requests) or _disagree(homes)


def _disagree(requests: set[str]) -> bool:
    """Return whether no device is all of those that are requested."""
    merged = DeviceSpec()
    for text in sorted(requests - {""}):
        try:
            asked = DeviceSpec.parse(text)
        except ValueError:
            return False  # placement says what is wrong
        if not merged.compatible(asked):
            return True
        merged = merged.merge(asked)
    return False


def _home(name: str, nodes: Mapping[str, NodeDef], known: Mapping[str, NodeDef]) -> str:
    """Return the device that is requested for the state behind a handle; empty for any other value."""
    node = nodes.get(name) or known.get(name)
    while node is not None and node.outputs and node.outputs[0].dtype is resource:
        if not node.inputs:
            return node.device
        first = node.inputs[0][0]
        producer = nodes.get(first) or known.get(first)
        if producer is not None and producer.outputs[0].dtype is not resource:
            return producer.device
        node = producer
    return ""


class _Writer:
    """The primitive nodes of one loop or branch.

    Args:
        node: the loop or branch.
        taken: the nodes whose names are taken.
    """

    def __init__(self, node: NodeDef, taken: Mapping[str, NodeDef]) -> None:
        self._node = node
        self._taken = taken

    def written(self) -> Iterator[NodeDef]:
        """Yield the nodes, producers first but for the back edges of a loop."""
        return self._loop() if self._node.op in LOOPS else self._branches()

    def _made(
        self,
        name: str,
        op: str,
        inputs: tuple[Ref, ...],
        outputs: tuple[TensorSpec, ...],
        control: tuple[str, ...] = (),
        **attrs: Any,
    ) -> NodeDef:
        return NodeDef(
            name=self._name(name),
            op=op,
            inputs=inputs,
            outputs=outputs,
            control_inputs=control,
            attrs=attrs,
            source=self._node.source,
        )

    def _name(self, name: str) -> str:
        full = f"{self._node.name}/spread/{name}"
        if full in self._taken:
            raise InvalidArgumentError(
                f"the loop or branch {self._node.name!r} is over several devices and needs a node named "
                f"{full!r}; another node has that name",
                node=self._node.name,
                source=self._node.source,
            )
        return full

    def _result(self, values: tuple[Ref, ...]) -> NodeDef:
        return replace(self._node, op="IdentityN", inputs=values, control_inputs=(), attrs={}, device="")

    # -- loops ---------------------------------------------------------------------------------

    def _loop(self) -> Iterator[NodeDef]:
        node = self._node
        cond, body = node.attrs["cond"], node.attrs["body"]
        specs = [*body.inputs, *body.captures]
        count = len(body.inputs)
        frame = {"frame_name": node.name, "parallel_iterations": _PARALLEL}
        enters = [
            self._made(f"Enter_{i}", "Enter", (ref,), (specs[i],), node.control_inputs, is_constant=i >= count, **frame)
            for i, ref in enumerate(node.inputs)
        ]
        yield from enters
        merges = [
            self._made(
                f"Merge_{i}", "Merge", ((enters[i].name, 0), (self._name(f"NextIteration_{i}"), 0)), (specs[i], _INDEX)
            )
            for i in range(count)
        ]
        yield from merges
        constants: list[Ref] = [(enter.name, 0) for enter in enters[count:]]
        given: list[Ref] = [(merge.name, 0) for merge in merges]
        (asked,) = yield from self._inlined(cond, given, constants, merges[0].name)
        predicate = self._made("LoopCond", "LoopCond", (asked,), (_FLAG,))
        yield predicate
        switches = [
            self._made(f"Switch_{i}", "Switch", (given[i], (predicate.name, 0)), (specs[i], specs[i]))
            for i in range(count)
        ]
        yield from switches
        pivot = self._made("pivot", "Identity", ((switches[0].name, 1),), (specs[0],))
        yield pivot
        inside: list[Ref] = [(switch.name, 1) for switch in switches]
        results = yield from self._inlined(body, inside, constants, pivot.name)
        for i, result in enumerate(results):
            yield self._made(f"NextIteration_{i}", "NextIteration", (result,), (specs[i],))
        exits = [self._made(f"Exit_{i}", "Exit", ((switch.name, 0),), (specs[i],)) for i, switch in enumerate(switches)]
        yield from exits
        yield self._result(tuple([(exit_.name, 0) for exit_ in exits]))

    # -- branches ------------------------------------------------------------------------------

    def _branches(self) -> Iterator[NodeDef]:
        node = self._node
        predicate = self._made("pred", "Identity", (node.inputs[0],), (_FLAG,), node.control_inputs)
        yield predicate
        switch = self._made("Switch", "Switch", ((predicate.name, 0),) * 2, (_FLAG, _FLAG))
        yield switch
        results: list[list[Ref]] = []
        for index, key in enumerate(("else_branch", "then_branch")):
            pivot = self._made(f"pivot_{index}", "Identity", ((switch.name, index),), (_FLAG,))
            yield pivot
            branch: FunctionDef = node.attrs[key]
            outer = list(node.inputs[1:])
            refs = yield from self._inlined(branch, [], outer, pivot.name)
            for place, ref in enumerate(refs):
                if ref in outer:
                    kept = self._made(
                        f"kept_{index}_{place}", "Identity", (ref,), (branch.output_specs()[place],), (pivot.name,)
                    )
                    yield kept
                    refs[place] = (kept.name, 0)
            results.append(refs)
        merges = [
            self._made(f"Merge_{i}", "Merge", (no, yes), (spec, _INDEX))
            for i, (no, yes, spec) in enumerate(zip(*results, node.outputs, strict=True))
        ]
        yield from merges
        yield self._result(tuple([(merge.name, 0) for merge in merges]))

    # -- functions -----------------------------------------------------------------------------

    def _inlined(
        self, function: FunctionDef, given: list[Ref], constants: list[Ref], pivot: str
    ) -> Generator[NodeDef, None, list[Ref]]:
        """Yield the nodes of a function, and return its results.

        Args:
            function: the function.
            given: its inputs.
            constants: what it captures.
            pivot: the node after which those of its nodes run that nothing else in it makes wait.
        """
        check_wanted()
        arguments = [*given, *constants]
        names: dict[str, str] = {}
        for inner in function.nodes:
            free = inner.name not in self._taken
            names[inner.name] = inner.name if free else self._name(f"inside/{inner.name}")

        def ref_of(ref: Ref) -> Ref:
            return arguments[ref[1]] if ref[0] == ARGUMENT else (names[ref[0]], ref[1])

        for inner in function.nodes:
            inputs = tuple([ref_of(ref) for ref in inner.inputs])
            control = tuple([names[name] for name in inner.control_inputs])
            if not control and all(ref in constants for ref in inputs):
                control = (pivot,)
            yield replace(inner, name=names[inner.name], inputs=inputs, control_inputs=control)
        return [ref_of(ref) for ref in function.outputs]
