"""Parts that take their feeds and give their fetches while they run, through the rendezvous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession import NodeDef
from actorsession.errors import InternalError, InvalidArgumentError
from actorsession.extend import Partition, RunSignature
from actorsession.plan.partial import PartialParts, check_signature, make_partial, validate_partial
from actorsession.plan.partition import RECV, SEND, partition
from actorsession.plan.prune import ARG, GraphView, prune
from actorsession.plan.rendezvous_key import parse_key
from tests.plan.kit import CPU, device_set, node
from tests.rows import for_each, refusing

DEVICES = device_set(3)
A = node("a", op="Placeholder", device="/cpu:0")
B = node("b", op="Placeholder", device="/cpu:0")
C = node("c", op="Placeholder", device="/cpu:0")
K = node("k", op="Const", value=np.float32(1))
START = node("start", op="VarHandleOp", device="/cpu:0")


def signature(fetches: str = "", feeds: str = "", targets: str = "") -> RunSignature:
    return RunSignature(tuple(feeds.split()), tuple(fetches.split()), tuple(targets.split()))


def made(
    nodes: Sequence[NodeDef],
    fetches: str = "",
    feeds: str = "",
    targets: str = "",
    where: Mapping[str, int] | None = None,
) -> PartialParts:
    """The plan; nodes that ``where`` leaves out are on the first device."""
    asked = signature(fetches, feeds, targets)
    graph = prune(GraphView(nodes), asked)
    device_of = {name: CPU[(where or {}).get(name, 0)] for name in graph.nodes}
    return make_partial(graph, partition(graph, device_of, DEVICES), asked, DEVICES)


def part(plan: PartialParts, number: int) -> Partition:
    return next(p for p in plan.parts if p.device == CPU[number])


def ops(of: Partition) -> list[str]:
    return [n.op for n in of.nodes]


SUM = [A, B, node("sum", "a", "b", op="AddV2")]


def test_feeds_are_received_and_fetches_sent_and_nothing_else_changes() -> None:
    (only,) = made(SUM, "sum:0", "a:0 b:0").parts
    assert ops(only) == [RECV, RECV, "AddV2", SEND]
    assert only.fetches == ()
    assert only.feeds == ()
    total, send = only.nodes[2], only.nodes[3]
    assert [ref[0] for ref in total.inputs] == [only.nodes[0].name, only.nodes[1].name]
    assert send.inputs == (("sum", 0),)
    assert send.outputs == ()
    assert send.source == "sum.py:1"
    assert only.nodes[0].outputs == A.outputs


def test_keys_are_made_with_the_client_device() -> None:
    plan = made([A, node("y", "a")], "y:0", "a:0", where={"y": 2})
    (feed,), fetch = plan.feed_keys[0], plan.fetch_keys[0]
    came, went = parse_key(feed), parse_key(fetch)
    assert (came.src_device, came.src_incarnation, came.dst_device) == (CPU[0], 1, CPU[2])
    assert (went.src_device, went.src_incarnation, went.dst_device) == (CPU[2], 3, CPU[0])
    assert "a:0" in came.edge_name
    assert "y:0" in went.edge_name
    assert {n.op: n.attrs["key"] for n in part(plan, 2).nodes if n.op in (SEND, RECV)} == {RECV: feed, SEND: fetch}


def test_a_feed_that_several_devices_read_has_a_key_for_each() -> None:
    plan = made([A, *(node(f"y{i}", "a") for i in range(3))], "y0:0 y1:0 y2:0", "a:0", where={"y1": 1, "y2": 2})
    (keys,) = plan.feed_keys
    assert sorted(parse_key(key).dst_device for key in keys) == CPU[:3]
    assert [ops(part(plan, i)).count(RECV) for i in range(3)] == [1, 1, 1]


def test_transfers_between_parts_stay_as_they_were() -> None:
    nodes = [START, node("y", "start"), A, node("z", "y", "a", op="AddV2")]
    asked = signature("z:0", "a:0")
    graph = prune(GraphView(nodes), asked)
    parts = partition(graph, {name: CPU[1 if name == "z" else 0] for name in graph.nodes}, DEVICES)
    plan = make_partial(graph, parts, asked, DEVICES)
    before = [n for p in parts for n in p.nodes if n.op in (SEND, RECV)]
    after = [n for p in plan.parts for n in p.nodes if n.op in (SEND, RECV)]
    assert all(n in after for n in before)
    assert len(after) == len(before) + 2
    # The parts that were given are not touched.
    asked = signature("sum:0", "a:0 b:0")
    graph = prune(GraphView(SUM), asked)
    parts = partition(graph, dict.fromkeys(graph.nodes, CPU[0]), DEVICES)
    wires = [p.to_wire() for p in parts]
    make_partial(graph, parts, asked, DEVICES)
    assert [p.to_wire() for p in parts] == wires


def test_parts_travel_like_all_others() -> None:
    for each in made(SUM, "sum:0", "a:0 b:0").parts:
        assert Partition.from_wire(each.to_wire()) == each


@for_each(
    "nodes, asked, nodes_of_the_part",
    [
        # A feed that nothing reads has no key.
        ([*SUM, C], ("sum:0", "a:0 b:0 c:0"), "_arg/a/0 _arg/b/0 sum _fetch/0"),
        # A fetch is sent right behind its producer.
        ([A, node("y", "a"), node("later", "y")], ("y:0 later:0", "a:0"), "_arg/a/0 y _fetch/0 later _fetch/1"),
        ([K], ("k:0",), "k _fetch/0"),
        # Targets alone make no keys of fetches.
        ([A, node("run", "a")], ("", "a:0", "run"), "_arg/a/0 run"),
    ],
)
def test_a_part_transfers_what_is_fed_and_fetched(nodes: list[NodeDef], asked: Any, nodes_of_the_part: str) -> None:
    plan = made(nodes, *asked)
    assert " ".join(n.name for n in plan.parts[0].nodes) == nodes_of_the_part
    sent = [n.attrs["key"] for n in plan.parts[0].nodes if n.op == SEND]
    received = [n.attrs["key"] for n in plan.parts[0].nodes if n.op == RECV]
    assert (list(plan.fetch_keys), [key for keys in plan.feed_keys for key in keys]) == (sent, received)


@for_each(
    "nodes, feeds, expected",
    [
        (
            [*SUM, C, node("product", "sum", "c", op="Mul"), node("alone", "c"), K],
            "a:0 b:0 c:0",
            {"sum:0": "a b", "product:0": "a b c", "alone:0": "c", "k:0": ""},
        ),
        # A control input is needed too, but one of a placeholder that is fed is satisfied by the feed.
        ([A, B, node("effect", "b"), node("y", "a", after=["effect"])], "a:0 b:0", {"y:0": "a b"}),
        ([A, B, node("y", "a", after=["b"])], "a:0 b:0", {"y:0": "a"}),
        # A feed in the middle ends the walk.
        ([*SUM, node("y", "sum")], "sum:0 a:0 b:0", {"y:0": "sum"}),
        ([A, node("there", "a"), B, node("back", "there", "b", op="AddV2")], "a:0 b:0", {"back:0": "a b"}),
    ],
)
def test_a_fetch_needs_the_feeds_behind_it_alone(nodes: list[NodeDef], feeds: str, expected: dict[str, str]) -> None:
    plan = made(nodes, " ".join(expected), feeds, where={"there": 1})
    needed = [
        [feed.removesuffix(":0") for i, feed in enumerate(plan.signature.feeds) if bits >> i & 1] for bits in plan.needs
    ]
    assert dict(zip(plan.signature.fetches, map(sorted, needed), strict=True)) == {
        name: feeds.split() for name, feeds in expected.items()
    }


def test_a_value_that_only_the_caller_gets_is_the_callers_without_a_copy() -> None:
    assert made(SUM, "sum:0", "a:0 b:0").owned == (True,)
    # But none that others read that may alias, and no constant.
    assert made([*SUM, node("view", "sum"), K], "sum:0 view:0 k:0", "a:0 b:0").owned == (False, False, False)


def test_the_shape_of_a_call_has_positions_bits_and_what_is_unknown() -> None:
    plan = made([*SUM, C, node("product", "sum", "c", op="Mul")], "sum:0 product:0", "a:0 b:0 c:0")
    shape = plan.shape(("c:0", "x:0", "a:0"), ("product:0", "y:0"))
    assert (shape.feeds, shape.fed, shape.unknown_feeds) == ((2, 0), 0b101, ("x:0",))
    assert (shape.fetches, shape.fetched, shape.unknown_fetches) == ((1,), 0b10, ("y:0",))
    assert shape.needs == 0b111
    assert plan.shape(("c:0", "x:0", "a:0"), ("product:0", "y:0")) is shape


def test_shapes_are_remembered_within_a_bound() -> None:
    plan = made(SUM, "sum:0", "a:0 b:0")
    for i in range(1000):
        plan.shape((f"x{i}",), ())
    assert len(plan.shapes) <= 256


test_a_signature_that_is_none_of_a_partial_run_is_refused = refusing(
    (signature("", "a:0"), "at least one target to fetch or execute.*with feeds a:0"),
    (signature("", ""), "with feeds none"),
    (signature("a:0 sum:0", "b:0 a:0"), "a:0 is both fed and fetched"),
    (signature("sum:0", "a:0 b:0 a:0"), "'a:0' is fed more than once"),
    of=check_signature,
    error=InvalidArgumentError,
)


GOOD = made([A, B, node("y", "a"), node("z", "y", "b", op="AddV2")], "z:0", "a:0 b:0", where={"z": 1})


def changed(number: int, nodes: Sequence[NodeDef]) -> PartialParts:
    parts = tuple(replace(p, nodes=tuple(nodes)) if p.device == CPU[number] else p for p in GOOD.parts)
    return replace(GOOD, parts=parts)


def broken(rule: str) -> PartialParts:
    first, second = part(GOOD, 0), part(GOOD, 1)
    send = second.nodes[-1]
    match rule:
        case "a feed stays":
            return changed(0, [node("x", op=ARG, index=0), *first.nodes])
        case "a fetch stays":
            return replace(GOOD, parts=(first, replace(second, fetches=((0, "z", 0),))))
        case "a fetch before its producer":
            return changed(1, [send, *second.nodes[:-1]])
        case "a feed nowhere":
            return replace(GOOD, parts=(second,))
        case "a feed received twice":
            return changed(1, [*second.nodes, replace(second.nodes[0], name="again")])
        case "a feed on another device":
            return replace(GOOD, parts=(replace(first, device=CPU[1]), replace(second, device=CPU[0])))
        case "a fetch not sent":
            return changed(1, second.nodes[:-1])
        case "a fetch sent twice":
            return changed(1, [*second.nodes, replace(send, name="again")])
        case "a transfer without receiver":
            cut = [n for n in second.nodes if "edge_" not in n.name and n.op == RECV]
            return changed(1, [*cut, node("z"), send])
    raise AssertionError(rule)


test_a_broken_rule_is_an_internal_error_that_names_what_breaks_it = refusing(
    ("a feed stays", "CPU:0 has feeds or fetches of its own"),
    ("a fetch stays", "CPU:1 has feeds or fetches of its own"),
    ("a fetch before its producer", "'_fetch/0' on .* comes before 'z'"),
    ("a feed nowhere", r"feed '.*feed_0_a:0.*' is not received on the device"),
    ("a feed received twice", "'again' repeats the key"),
    ("a feed on another device", "is not received on the device in its key"),
    ("a fetch not sent", "fetch '.*fetch_0_z:0.*' is sent 0 times"),
    ("a fetch sent twice", "fetch '.*fetch_0_z:0.*' is sent 2 times"),
    ("a transfer without receiver", r"sends \['.*edge_0_y:0.*'\] and receives \[\]"),
    of=lambda rule: validate_partial(broken(rule), DEVICES),
    error=InternalError,
)


def test_what_is_made_is_valid() -> None:
    validate_partial(GOOD, DEVICES)
