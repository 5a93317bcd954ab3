"""Pruning: from a whole graph and a run signature to the nodes that the run needs.

The result is a ``StepGraph``: plain nodes, producers first, in which every fed tensor is an ``_Arg`` node. A
feed cuts the graph: neither the producer of a fed tensor nor the producer's control inputs run for that
tensor. As in TensorFlow (core/graph/subgraph.cc), a control dependency on a fed *placeholder* is satisfied by
the feed. A control dependency on any other fed operation still makes that operation run, and so does naming
it as a target.

Sessions and masters call this; they hold the ``GraphView``. A graph that came from elsewhere is checked by
the view: every name, output and operation type in it exists.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.control_flow_ops import MERGES, is_back_edge
from actorsession.graph.function import (
    CONSTRUCTS,
    CONTROL_FLOW,
    LOOPS,
    STANDS_FOR,
    function_fault,
    nodes_inside,
    size_of,
)
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.validation import class_fault
from actorsession.plan.signature import RunSignature
from actorsession.plan.topological_order import CycleError, producers_first
from actorsession.plan.wiring import Ref, Sources, find_sources, split_name
from actorsession.records import dataclass
from actorsession.whole_numbers import is_index

__all__ = [
    "ARG",
    "PINNED",
    "PLACEHOLDERS",
    "GraphView",
    "StepGraph",
    "arg_name",
    "check_unique",
    "in_order",
    "prune",
    "split_name",
    "unfed_error",
]

ARG = "_Arg"
PINNED = "pinned"
"""The attribute of an ``_Arg`` whose value enters the step at one device and is sent on from there."""
PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
"""The operation types that have no value unless they are fed."""


class GraphView(dict[str, NodeDef]):
    """A whole graph for the planning passes: nodes by name in the order they were built.

    Attributes:
        position: the place of each node in that order.
        size: number of nodes, with those of functions.
    """

    def __init__(self, nodes: Iterable[NodeDef] = ()) -> None:
        super().__init__()
        self.position: dict[str, int] = {}
        self.size = 0
        self.extend(nodes)

    def extend(self, nodes: Iterable[NodeDef]) -> None:
        """Add nodes behind the existing ones; they may read each other in any order.

        A loop or branch that exists already may be added again with more outputs, for gradients. Plans made
        before stay as they are, because the outputs that they read have not changed.

        Raises:
            InvalidArgumentError: if a name is taken or reserved, an operation type is not registered, an
                input does not exist, or a loop body or branch is wrong; nothing is added then.
        """
        self.add(self.checked(nodes))

    def add(self, checked: Mapping[str, NodeDef]) -> None:
        """Add the result of ``checked``, if nothing was added in between."""
        for name in checked:
            self.position.setdefault(name, len(self.position))
        replaced = [self[name] for name in checked if name in self]
        self.size += size_of(checked.values()) - size_of(replaced)
        self.update(checked)

    def new_in(self, checked: Mapping[str, NodeDef]) -> list[NodeDef]:
        """Return the nodes in a result of ``checked`` whose names the view does not contain yet."""
        return [node for name, node in checked.items() if name not in self]

    def checked(self, nodes: Iterable[NodeDef]) -> dict[str, NodeDef]:
        """Return the nodes that ``extend`` would add, by name, or raise what it would raise."""
        added: dict[str, NodeDef] = {}
        for node in nodes:
            known = self.get(node.name)
            if node.name in added or not (known is None or _continues(known, node)):
                raise _bad_node(node, "has a name that already exists in the graph")
            if node.name.startswith("_"):
                raise _bad_node(node, "has a name that is reserved for nodes of plans")
            if not is_registered(node.op):
                raise _bad_node(node, f"is of type {node.op!r}, which is not registered here")
            fault = class_fault(node.attrs) or function_fault(node)
            if fault is not None:
                raise _bad_node(node, fault)
            added[node.name] = node
        for node in added.values():
            for name, index in node.inputs:
                producer = added.get(name) or self.get(name)
                if producer is None or not 0 <= index < len(producer.outputs):
                    raise _bad_node(node, f"reads '{name}:{index}', which the graph does not contain")
            for name in node.control_inputs:
                if name not in added and name not in self:
                    raise _bad_node(node, f"has the control input {name!r}, which the graph does not contain")
        return added


def check_unique(nodes: Sequence[NodeDef]) -> None:
    """Check that no two nodes have one name, before they are put into a table by name.

    Raises:
        InvalidArgumentError: for the second of two nodes of one name.
    """
    names: set[str] = set()
    for node in nodes:
        if node.name in names:
            raise _bad_node(node, "is not unique: two of the nodes that were added have this name")
        names.add(node.name)


def _continues(old: NodeDef, new: NodeDef) -> bool:
    """Return whether ``new`` is ``old`` with more outputs (a loop or branch) or a closed loop (a Merge)."""
    same = (old.op, old.control_inputs, old.device) == (new.op, new.control_inputs, new.device)
    if old.op in MERGES:
        return same and old.outputs == new.outputs and len(old.inputs) == len(new.inputs)
    return (
        old.op in CONTROL_FLOW
        and same
        and old.outputs == new.outputs[: len(old.outputs)]
        and set(old.inputs) <= set(new.inputs)
    )


def _bad_node(node: NodeDef, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"node {node.name!r} {what}", node=node.name, source=node.source)


@dataclass(frozen=True, slots=True)
class StepGraph:
    """The nodes of a graph that one run signature needs.

    Attributes:
        nodes: by name, producers before consumers.
        feeds: name of the ``_Arg`` node of each feed, in the signature's order; a feed that nothing needs has
            no node in ``nodes``.
        fetches: producing node and output of each fetch, in the signature's order.
        targets: names of the nodes that must run.
    """

    nodes: Mapping[str, NodeDef]
    feeds: tuple[str, ...]
    fetches: tuple[Ref, ...]
    targets: tuple[str, ...]


def arg_name(feed: Ref) -> str:
    """Return the name of the ``_Arg`` node of a fed tensor."""
    return f"_arg/{feed[0]}/{feed[1]}"


def prune(view: GraphView, signature: RunSignature, unfed: list[NodeDef] | None = None) -> StepGraph:
    """Find the nodes that a run needs.

    Args:
        view: the whole graph.
        signature: feeds, fetches and targets of the run.
        unfed: gets the placeholders that are needed but not fed, which are an error without it.

    Raises:
        InvalidArgumentError: for a name that is not in the graph, a tensor fed twice, a placeholder that is
            needed but not fed, a cycle, or tensors that cannot be connected; see ``find_sources``.
        NotFoundError: for a connected tensor that is not in the graph.
    """
    feeds = tuple(_tensor(view, name, "feed") for name in signature.feeds)
    fetches = tuple(_tensor(view, name, "fetch") for name in signature.fetches)
    fed = {feed: arg_name(feed) for feed in feeds}
    if len(fed) != len(feeds):
        ((name, index), _) = Counter(feeds).most_common(1)[0]
        raise InvalidArgumentError(f"tensor {f'{name}:{index}'!r} is fed more than once")
    sources = find_sources(view.get, signature.wiring, fed, fetches)
    own = _own_nodes(view, signature, fed, fetches, sources)
    _check_targets(view, signature.targets, sources)
    ends = tuple([(_exit_name(f), 0) if _exit_name(f) in own else sources.of.get(f, f) for f in fetches])
    roots = [name for name, _ in ends] + list(signature.targets)
    needed = _collect(view, roots, own, sources, {})
    stood_for = _stood_for(view, needed)
    if stood_for:
        needed = _collect(view, roots, own, sources, stood_for)
        _check_once(view, needed, stood_for)
    missing = _unfed(needed)
    if unfed is not None:
        unfed.extend(missing)
    elif missing:
        raise unfed_error(missing[0])
    position = view.position
    order = sorted(needed, key=lambda n: position.get(n, -1))
    return StepGraph(in_order(needed, order), tuple(fed.values()), ends, signature.targets)


def _tensor(view: GraphView, name: str, what: str) -> Ref:
    ref = split_name(name)
    node = view.get(ref[0])
    if node is None or ref[1] >= len(node.outputs):
        raise InvalidArgumentError(f"{what} {name!r} is not a tensor of the graph")
    return ref


def _check_targets(view: GraphView, targets: Iterable[str], sources: Sources) -> None:
    for target in targets:
        if target not in view:
            raise InvalidArgumentError(f"target {target!r} is not an operation of the graph")
        if (target, 0) in sources.of and view[target].op in PLACEHOLDERS:
            raise InvalidArgumentError(
                f"placeholder {target!r} cannot be a target while it is fed, because then it does "
                "not run: fetch its tensor instead",
                node=target,
                source=view[target].source,
            )


def _own_nodes(
    view: GraphView, signature: RunSignature, fed: Mapping[Ref, str], fetches: Iterable[Ref], sources: Sources
) -> dict[str, NodeDef]:
    """Return the nodes that the step has beside those of the graph, by name.

    They are an ``_Arg`` for each feed, checks of connected tensors, and an Identity for each fetch that
    leaves the step at a device of its own.
    """
    enters = {split_name(name): device for name, device in signature.wiring.feed_devices}
    leaves = {split_name(name): device for name, device in signature.wiring.fetch_devices}
    own = dict(sources.checks)
    for index, (feed, name) in enumerate(fed.items()):
        own[name] = _arg_node(view, feed, index, enters.get(feed))
    for fetch in fetches:
        if fetch in leaves:
            producer, name = view[fetch[0]], _exit_name(fetch)
            own[name] = NodeDef(
                name=name,
                op="Identity",
                inputs=(sources.of.get(fetch, fetch),),
                outputs=(producer.outputs[fetch[1]],),
                device=leaves[fetch],
                source=producer.source,
            )
    return own


def _exit_name(fetch: Ref) -> str:
    """Return the name of the node at which a fetch leaves the step at a device of its own."""
    return f"_fetch/{fetch[0]}/{fetch[1]}"


def _collect(
    view: GraphView, roots: Iterable[str], own: Mapping[str, NodeDef], sources: Sources, stood_for: Mapping[str, Ref]
) -> dict[str, NodeDef]:
    """Return every node that the roots need, in the order of traversal."""
    needed: dict[str, NodeDef] = {}
    stack = list(dict.fromkeys(roots))
    while stack:
        name = stack.pop()
        if name in needed:
            continue
        node = own.get(name)
        if node is None:
            node = view[name]
            if name in stood_for:
                node = replace(node, op="Identity", inputs=(stood_for[name],))
            node = _cut(view, node, sources.of)
        needed[name] = node
        stack.extend(_producers(node))
    return needed


# -- loops that replace others ------------------------------------------------------------------------


def _stood_for(view: GraphView, needed: Mapping[str, NodeDef]) -> dict[str, Ref]:
    """Return the Exits of primitive loops that a ``While`` of this step replaces, with its outputs."""
    tensors = {}
    for node in needed.values():
        for text in node.attrs.get(STANDS_FOR, ()) if node.op in LOOPS else ():
            name, index = _stands_for(text)
            exit_ = view.get(name)
            if exit_ is None or exit_.op != "Exit" or index >= len(node.outputs):
                raise _bad_node(node, f"replaces {text!r:.100}, which is not a loop of the graph")
            if exit_.outputs[0].dtype is not node.outputs[index].dtype:
                raise _bad_node(node, f"replaces {text!r:.100}, which has another dtype")
            tensors[name] = node.name, index
    return tensors


def _stands_for(text: Any) -> Ref:
    """Return the name of the Exit that an output of a ``While`` replaces, and the index of that output."""
    index, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    return name, int(index) if is_index(index) else sys.maxsize


def _check_once(view: GraphView, needed: Mapping[str, NodeDef], stood_for: Mapping[str, Ref]) -> None:
    """Refuse a step in which a stateful loop would run a second time for its gradient."""
    for name, (loop, _) in stood_for.items():
        if view[name].inputs[0][0] not in needed:
            continue
        for inner, _ in nodes_inside(needed[loop]):
            if inner.op not in CONTROL_FLOW and lookup(inner.op).stateful:
                raise InvalidArgumentError(
                    f"the step needs the gradient of the loop of Exit {name!r} and also a value "
                    f"inside that loop, so {inner.name!r} ({inner.op}) would run twice; run two "
                    "steps",
                    node=name,
                    source=view[name].source,
                )


def _arg_node(view: GraphView, feed: Ref, index: int, device: str | None) -> NodeDef:
    producer = view[feed[0]]
    attrs = {"index": index} if device is None else {"index": index, PINNED: True}
    return NodeDef(
        name=arg_name(feed),
        op=ARG,
        attrs=attrs,
        outputs=(producer.outputs[feed[1]],),
        source=producer.source,
        device=device or producer.device,
    )


def _cut(view: GraphView, node: NodeDef, sources: Mapping[Ref, Ref]) -> NodeDef:
    """Return the node with replaced inputs, and without control inputs that are satisfied.

    A control dependency on a placeholder that is fed is satisfied; on one in whose place another tensor is
    used it becomes one on that tensor.
    """
    if not sources:
        return node
    inputs = tuple([sources.get(i, i) for i in node.inputs])
    control = node.control_inputs
    if control:
        control = tuple(dict.fromkeys(_control(view, control, sources)))
    if inputs == node.inputs and control == node.control_inputs:
        return node
    return replace(node, inputs=inputs, control_inputs=control)


def _control(view: GraphView, control: Iterable[str], sources: Mapping[Ref, Ref]) -> Iterator[str]:
    for name in control:
        source = sources.get((name, 0)) if view[name].op in PLACEHOLDERS else None
        if source is None:
            yield name
        elif not source[0].startswith("_arg/"):
            yield source[0]


def _unfed(nodes: Mapping[str, NodeDef]) -> list[NodeDef]:
    constructs = [node for node in nodes.values() if node.op in CONSTRUCTS]
    inside = [inner for node in constructs for inner, _ in nodes_inside(node)]
    return [node for node in (*nodes.values(), *inside) if node.op in PLACEHOLDERS]


def unfed_error(node: NodeDef) -> InvalidArgumentError:
    """Return the error of a run that needs a placeholder and does not feed it."""
    spec = node.outputs[0]
    return InvalidArgumentError(
        f"You must feed a value for placeholder tensor '{node.name}' with dtype "
        f"{spec.dtype.name} and shape {spec.shape}",
        node=node.name,
        source=node.source,
    )


def in_order(nodes: Mapping[str, NodeDef], order: Iterable[str]) -> dict[str, NodeDef]:
    """Return nodes, producers first, in an order that is given if it is such an order."""
    order = list(order)
    done: set[str] = set()
    for name in order:
        node = nodes[name]
        if not done.issuperset(_before(nodes, node)):
            try:
                order = producers_first(order, lambda name: _before(nodes, nodes[name]))
            except CycleError as cycle:
                raise InvalidArgumentError(f"the graph has a cycle through {', '.join(cycle.names)}") from None
            break
        done.add(name)
    return {name: nodes[name] for name in order}


def _producers(node: NodeDef) -> list[str]:
    return [*[p for p, _ in node.inputs], *node.control_inputs]


def _before(nodes: Mapping[str, NodeDef], node: NodeDef) -> list[str]:
    """Return the producers that come before a node: all but those on a loop's back edge."""
    if node.op not in MERGES:
        return _producers(node)
    data = [p for p, _ in node.inputs if not is_back_edge(node.op, nodes[p].op)]
    return [*data, *node.control_inputs]
