"""Partial runs: turns the partitions of a step into partitions that are fed and fetched while they run.

The feeds of a partial run arrive over time, so no partition can get them when it starts. Each feed (``_Arg``)
becomes a ``_Recv`` from the client device, one per device that reads it, and each fetch becomes a ``_Send``
to the client device. The owner of the step sends and receives under these keys. All partitions can then start
with nothing fed, and a segment runs as soon as the feeds that it waits for are there.

The dependencies of a fetch are computed here too: ``needs`` is TensorFlow's CheckFetch, the walk back from a
fetch to the feeds that are still missing, done once per plan. The module is pure; direct sessions and masters
call it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from actorsession.errors import InternalError, InvalidArgumentError, OpError
from actorsession.graph.control_flow_ops import MERGES, NEXT_ITERATIONS
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import lookup
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG, StepGraph
from actorsession.plan.rendezvous_key import build_key, parse_key
from actorsession.plan.signature import PLAIN, RunSignature
from actorsession.records import dataclass

__all__ = ["CallShape", "PartialParts", "check_signature", "fed_name", "make_partial", "validate_partial"]

# Call shapes remembered per plan; a program has as many as it has stages.
_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class CallShape:
    """The feeds and fetches of one call of a partial run, by position in the signature.

    Attributes:
        feeds: positions of the feeds, in the caller's order.
        fetches: positions of the fetches, in the caller's order.
        unknown_feeds: names that were not among the feeds at setup.
        unknown_fetches: names that were not among the fetches at setup.
        unknown: whether there are any such names.
        fed: the feeds as bits.
        fetched: the fetches as bits.
        needs: the feeds that the fetches wait for, as bits.
    """

    feeds: tuple[int, ...]
    fetches: tuple[int, ...]
    unknown_feeds: tuple[str, ...]
    unknown_fetches: tuple[str, ...]
    unknown: bool
    fed: int
    fetched: int
    needs: int


@dataclass(frozen=True, slots=True)
class PartialParts:
    """The partitions of a step whose feeds arrive and whose fetches leave while it runs.

    Attributes:
        signature: all feeds, fetches and targets of the run.
        parts: one per device, without ``_Arg`` nodes and without fetches.
        feed_keys: for each feed the rendezvous keys under which it is sent, one per device that reads it;
            none for a feed that nothing reads.
        fetch_keys: for each fetch the key under which it arrives.
        needs: for each fetch the feeds that it waits for, as bits.
        owned: for each fetch whether the value that arrives shares its memory with nothing else.
        failure: why every such run fails, if a placeholder that it needs is not among the feeds; the first
            call of a run reports it, because in TensorFlow the placeholder fails the step.
        shapes: the shapes of calls by the names of their feeds and fetches; see ``shape``.
    """

    signature: RunSignature
    parts: tuple[Partition, ...] = ()
    feed_keys: tuple[tuple[str, ...], ...] = ()
    fetch_keys: tuple[str, ...] = ()
    needs: tuple[int, ...] = ()
    owned: tuple[bool, ...] = ()
    failure: OpError | None = None
    shapes: dict[tuple[tuple[str, ...], tuple[str, ...]], CallShape] = field(
        default_factory=dict, compare=False, repr=False
    )

    def shape(self, feeds: tuple[str, ...], fetches: tuple[str, ...]) -> CallShape:
        """Return the shape of a call with these names; never raise, since unknown names are part of it."""
        known = self.shapes.get((feeds, fetches))
        if known is not None:
            return known
        at_feeds = [_index(self.signature.feeds, name) for name in feeds]
        at_fetches = [_index(self.signature.fetches, name) for name in fetches]
        known_feeds = tuple([i for i in at_feeds if i >= 0])
        known_fetches = tuple([i for i in at_fetches if i >= 0])
        needs = 0
        for i in known_fetches:
            needs |= self.needs[i] if self.needs else 0
        if len(self.shapes) >= _REMEMBERED:
            self.shapes.clear()
        shape = self.shapes[feeds, fetches] = CallShape(
            feeds=known_feeds,
            fetches=known_fetches,
            unknown_feeds=tuple([n for n, i in zip(feeds, at_feeds, strict=True) if i < 0]),
            unknown_fetches=tuple([n for n, i in zip(fetches, at_fetches, strict=True) if i < 0]),
            unknown=-1 in at_feeds or -1 in at_fetches,
            fed=_bits(known_feeds),
            fetched=_bits(known_fetches),
            needs=needs,
        )
        return shape


def _index(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _bits(positions: Iterable[int]) -> int:
    bits = 0
    for position in positions:
        bits |= 1 << position
    return bits


def check_signature(signature: RunSignature) -> None:
    """Check the signature of a setup.

    Raises:
        InvalidArgumentError: if it fetches and targets nothing, feeds a tensor twice, feeds a tensor that it
            fetches, or has a wiring.
    """
    if not signature.fetches and not signature.targets:
        raise InvalidArgumentError(
            "Must specify at least one target to fetch or execute: a partial run was set up with feeds "
            f"{_names(signature.feeds)} and no fetches"
        )
    for name, count in Counter(signature.feeds).items():
        if count > 1:
            raise InvalidArgumentError(
                f"tensor {name!r} is fed more than once; name each feed of a partial run only once"
            )
    fetches = set(signature.fetches)
    for name in signature.feeds:
        if name in fetches:
            raise InvalidArgumentError(
                f"{name} is both fed and fetched; a partial run returns only computed values, "
                "so remove it from the fetches or from the feeds"
            )
    if signature.wiring != PLAIN:
        raise InvalidArgumentError(
            "a partial run connects no tensors and has no devices of feeds and fetches; make a callable from "
            "options for them"
        )


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def make_partial(
    graph: StepGraph, parts: Sequence[Partition], signature: RunSignature, devices: DeviceSet
) -> PartialParts:
    """Make the feeds of a step arrive, and its fetches leave, while it runs.

    Args:
        graph: the nodes that the run needs, producers first.
        parts: the partitions that ``partition`` made of it.
        signature: the one that it was pruned for.
        devices: the session's devices, for the client device and all incarnations.

    Raises:
        InvalidArgumentError: if the signature is not valid for a partial run; see ``check_signature``.
    """
    check_signature(signature)
    feed_keys: list[list[str]] = [[] for _ in signature.feeds]
    fetch_keys = [""] * len(signature.fetches)
    owned = [False] * len(signature.fetches)
    partitions = []
    for part in parts:
        sends: dict[str, list[NodeDef]] = {}
        uses = Counter(ref for node in part.nodes for ref in node.inputs)
        by_name = {node.name: node for node in part.nodes}
        for position, name, index in part.fetches:
            key = _fetch_key(devices, part.device, position, signature.fetches[position])
            fetch_keys[position] = key
            owned[position] = _is_owned(by_name[name]) and not uses[name, index]
            uses[name, index] += 1
            send = NodeDef(
                name=f"_fetch/{position}",
                op=SEND,
                attrs={"key": key},
                inputs=((name, index),),
                source=by_name[name].source,
            )
            sends.setdefault(name, []).append(send)
        nodes: list[NodeDef] = []
        for node in part.nodes:
            if node.op == ARG:
                feed = node.attrs["index"]
                key = _feed_key(devices, part.device, feed, signature.feeds[feed])
                feed_keys[feed].append(key)
                node = replace(node, op=RECV, attrs={"key": key})
            # A value is sent directly behind its producer, so that it is available as soon as it exists.
            nodes += [node, *sends.get(node.name, ())]
        partitions.append(replace(part, nodes=tuple(nodes), fetches=()))
    result = PartialParts(
        signature,
        tuple(partitions),
        tuple([tuple(keys) for keys in feed_keys]),
        tuple(fetch_keys),
        _needs(graph),
        tuple(owned),
    )
    validate_partial(result, devices)
    return result


def _feed_key(devices: DeviceSet, device: str, position: int, name: str) -> str:
    client = devices.client_device
    incarnation = devices.by_name[client].incarnation
    return build_key(client, incarnation, device, f"feed_{position}_{name}")


def fed_name(node: NodeDef) -> str | None:
    """Return the name of the tensor that a node receives as feed of a partial run; ``None`` if none."""
    if node.op != RECV:
        return None
    kind, _, rest = parse_key(node.attrs["key"]).edge_name.partition("_")
    return rest.partition("_")[2] if kind == "feed" else None


def _fetch_key(devices: DeviceSet, device: str, position: int, name: str) -> str:
    incarnation = devices.by_name[device].incarnation
    return build_key(device, incarnation, devices.client_device, f"fetch_{position}_{name}")


def _is_owned(producer: NodeDef) -> bool:
    """Return whether a node makes a new array in each step, which shares memory with nothing."""
    if producer.op in (ARG, RECV):
        return False
    definition = lookup(producer.op)
    return not (definition.aliases or definition.once)


def _needs(graph: StepGraph) -> tuple[int, ...]:
    """Return for each fetch the feeds that it waits for, which are all that can be reached backwards."""
    before: dict[str, int] = {}
    again = True
    while again:  # feeds inside a loop reach its beginning only in a later pass
        again = False
        for node in graph.nodes.values():
            bits = 1 << node.attrs["index"] if node.op == ARG else 0
            for name in (*[name for name, _ in node.inputs], *node.control_inputs):
                bits |= before.get(name, 0)
            again = again or (node.op in MERGES and bits != before.get(node.name))
            before[node.name] = bits
    return tuple([before[name] for name, _ in graph.fetches])


def validate_partial(parts: PartialParts, devices: DeviceSet) -> None:
    """Check the invariants on which the owner of the step relies.

    Raises:
        InternalError: naming the object that breaks a rule: no partition has feeds or fetches of its own;
            every key of a feed is received once, on the device that it names, and sent by no partition; every
            key of a fetch is sent once, behind its producer, and received by no partition; every other key is
            sent once and received once.
    """
    sent: Counter[str] = Counter()
    received: dict[str, str] = {}
    for part in parts.parts:
        if part.fetches or any(node.op == ARG for node in part.nodes):
            raise InternalError(f"the partition on {part.device} has feeds or fetches of its own")
        done: set[str] = set()
        later = {node.name for node in part.nodes if node.op in NEXT_ITERATIONS}
        for node in part.nodes:
            _check_order(node, part.device, done, later)
            if node.op == SEND:
                sent[node.attrs["key"]] += 1
            elif node.op == RECV:
                if node.attrs["key"] in received:
                    raise InternalError(f"{node.name!r} repeats the key {node.attrs['key']!r}")
                received[node.attrs["key"]] = part.device
    _check_keys(parts, devices.client_device, sent, received)


def _check_order(node: NodeDef, device: str, done: set[str], later: set[str]) -> None:
    for name in (*[name for name, _ in node.inputs], *node.control_inputs):
        if name not in done and not (node.op in MERGES and name in later):
            raise InternalError(f"{node.name!r} on {device} comes before {name!r}")
    done.add(node.name)


def _check_keys(parts: PartialParts, client: str, sent: Counter[str], received: Mapping[str, str]) -> None:
    fed = [key for keys in parts.feed_keys for key in keys]
    for key in fed:
        if received.get(key) != parse_key(key).dst_device or parse_key(key).src_device != client:
            raise InternalError(f"the feed {key!r} is not received on the device in its key")
    for key in parts.fetch_keys:
        if sent[key] != 1 or parse_key(key).dst_device != client:
            raise InternalError(f"the fetch {key!r} is sent {sent[key]} times to {client}")
    twice = [key for key, count in sent.items() if count > 1]
    within_sent = sorted(set(sent) - set(parts.fetch_keys))
    within_received = sorted(set(received) - set(fed))
    if twice or within_sent != within_received or set(fed) & set(sent):
        raise InternalError(f"sends {within_sent} and receives {within_received} between partitions do not match")
