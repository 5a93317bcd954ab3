"""Prune: from a whole graph and a run signature to the nodes that the run needs.

The result is a ``StepGraph``: plain nodes, producers first, in which every fed tensor is an ``_Arg``
node. Feeding cuts the graph: the producer of a fed tensor does not run for it, nor do the producer's
control inputs. As in TensorFlow (core/graph/subgraph.cc), a control dependency on a fed *placeholder* is
satisfied by the feed; one on any other fed operation still makes that operation run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.signature import RunSignature

__all__ = ["ARG", "GraphView", "StepGraph", "arg_name", "prune", "split_name"]

ARG = "_Arg"
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})


class GraphView(dict[str, NodeDef]):
    """A whole graph as planners read it: nodes by name in the order they were built."""

    def __init__(self, nodes: Iterable[NodeDef] = ()) -> None:
        super().__init__()
        self.position: dict[str, int] = {}
        self.extend(nodes)

    def extend(self, nodes: Iterable[NodeDef]) -> None:
        """Adds nodes behind those there are.

        Raises:
            InvalidArgumentError: if a name is taken; nothing is added then.
        """
        added = {}
        for node in nodes:
            if node.name in self or node.name in added:
                raise InvalidArgumentError(
                    f"a node named {node.name!r} exists in the graph already"
                )
            added[node.name] = node
        for name in added:
            self.position[name] = len(self.position)
        self.update(added)


@dataclass(frozen=True, slots=True)
class StepGraph:
    """The part of a graph that one run signature needs.

    Attributes:
        nodes: by name, producers before consumers.
        feeds: name of the ``_Arg`` node of each feed, in the signature's order; a feed that nothing
            needs has no node in ``nodes``.
        fetches: producing node and output of each fetch, in the signature's order.
        targets: names of the nodes that must run.
    """

    nodes: Mapping[str, NodeDef]
    feeds: tuple[str, ...]
    fetches: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]


def split_name(tensor: str) -> tuple[str, int]:
    """The node and output index that a tensor name stands for."""
    node, _, index = tensor.partition(":")
    return node, int(index or 0)


def arg_name(feed: tuple[str, int]) -> str:
    """The name of the node that stands for a fed tensor."""
    return f"_arg/{feed[0]}/{feed[1]}"


def prune(view: GraphView, signature: RunSignature) -> StepGraph:
    """Finds what a run needs.

    Args:
        view: the whole graph.
        signature: what the run feeds, fetches and targets.

    Raises:
        InvalidArgumentError: for a name that is not in the graph, a fetch or target that is fed, a
            placeholder that is needed but not fed, or a cycle.
    """
    feeds = tuple(_tensor(view, name, "feed") for name in signature.feeds)
    fetches = tuple(_tensor(view, name, "fetch") for name in signature.fetches)
    fed = {feed: arg_name(feed) for feed in feeds}
    _check_roots(view, signature, fed)
    roots = [fed.get(f, f[0]) for f in fetches] + list(signature.targets)
    args = {name: feed for feed, name in fed.items()}
    rewritten: dict[str, NodeDef] = {}
    stack = list(dict.fromkeys(roots))
    while stack:
        name = stack.pop()
        if name in rewritten:
            continue
        if name in args:
            rewritten[name] = _arg_node(view, args[name], signature.feeds.index(_text(args[name])))
            continue
        node = rewritten[name] = _cut(view, view[name], fed)
        stack.extend(n for n, _ in node.inputs if n not in rewritten)
        stack.extend(n for n in node.control_inputs if n not in rewritten)
    _check_placeholders(rewritten)
    return StepGraph(
        _in_order(view, rewritten),
        tuple(fed[f] for f in feeds),
        tuple((fed[f], 0) if f in fed else f for f in fetches),
        signature.targets,
    )


def _text(ref: tuple[str, int]) -> str:
    return f"{ref[0]}:{ref[1]}"


def _tensor(view: GraphView, name: str, what: str) -> tuple[str, int]:
    ref = split_name(name)
    node = view.get(ref[0])
    if node is None or ref[1] >= len(node.outputs):
        raise InvalidArgumentError(f"{what} {name!r} is not a tensor of the graph")
    return ref


def _check_roots(
    view: GraphView, signature: RunSignature, fed: Mapping[tuple[str, int], str]
) -> None:
    for target in signature.targets:
        if target not in view:
            raise InvalidArgumentError(f"target {target!r} is not an operation of the graph")
        if (target, 0) in fed:
            raise InvalidArgumentError(
                f"operation {target!r} cannot be a target while its output is fed: "
                "fetch the tensor instead, or do not feed it"
            )


def _arg_node(view: GraphView, feed: tuple[str, int], index: int) -> NodeDef:
    producer = view[feed[0]]
    spec: TensorSpec = producer.outputs[feed[1]]
    return NodeDef(
        name=arg_name(feed), op=ARG, attrs={"index": index}, outputs=(spec,), source=producer.source,
        device=producer.device,
    )  # fmt: skip


def _cut(view: GraphView, node: NodeDef, fed: Mapping[tuple[str, int], str]) -> NodeDef:
    """The node with fed inputs replaced and satisfied control inputs dropped."""
    if not fed:
        return node
    inputs = tuple((fed[i], 0) if i in fed else i for i in node.inputs)
    control = tuple(
        c for c in node.control_inputs if not ((c, 0) in fed and view[c].op in _PLACEHOLDERS)
    )
    if inputs == node.inputs and control == node.control_inputs:
        return node
    return replace(node, inputs=inputs, control_inputs=control)


def _check_placeholders(nodes: Mapping[str, NodeDef]) -> None:
    for node in nodes.values():
        if node.op in _PLACEHOLDERS:
            spec = node.outputs[0]
            raise InvalidArgumentError(
                f"You must feed a value for placeholder tensor '{node.name}' with dtype "
                f"{spec.dtype.name} and shape {spec.shape}",
                node=node.name,
                source=node.source,
            )


def _in_order(view: GraphView, nodes: Mapping[str, NodeDef]) -> dict[str, NodeDef]:
    """Producers first; the order of building wherever that is one (it is, unless imported)."""
    position = view.position
    order = sorted(nodes, key=lambda n: position.get(n, -1))
    done: set[str] = set()
    for name in order:
        node = nodes[name]
        if any(p not in done for p, _ in node.inputs) or any(
            c not in done for c in node.control_inputs
        ):
            order = _topological(nodes, order)
            break
        done.add(name)
    return {name: nodes[name] for name in order}


def _topological(nodes: Mapping[str, NodeDef], order: list[str]) -> list[str]:
    result: list[str] = []
    state: dict[str, int] = {}  # 1: its producers are being visited, 2: done
    for root in order:
        stack = [root]
        while stack:
            name = stack[-1]
            if state.get(name) == 2:
                stack.pop()
                continue
            waiting = [p for p in _producers(nodes[name]) if state.get(p) != 2]
            if not waiting:
                state[name] = 2
                result.append(name)
                stack.pop()
            elif state.get(name) == 1:
                cycle = [n for n in stack if state.get(n) == 1]
                raise InvalidArgumentError(f"the graph has a cycle through {', '.join(cycle)}")
            else:
                state[name] = 1
                stack.extend(reversed(waiting))
    return result


def _producers(node: NodeDef) -> list[str]:
    return [p for p, _ in node.inputs] + list(node.control_inputs)
