"""A partition becomes segments: all nodes that wait for the same arrivals, in one function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import NodeDef
from actorsession.extend import Partition
from actorsession.graph.node import spec
from actorsession.plan.codegen.compile import CompiledPartition, compile_partition
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from tests.plan.kit import CPU, node

VECTOR = spec("float32", [3])


def compiled(*nodes: NodeDef, fetches: str = "") -> CompiledPartition:
    refs = tuple((i, name, 0) for i, name in enumerate(fetches.split()))
    return compile_partition(Partition(CPU[0], nodes, refs))


def feed(name: str, index: int = 0) -> NodeDef:
    return node(name, op=ARG, index=index, outputs=(VECTOR,))


def recv(name: str) -> NodeDef:
    return node(name, op=RECV, key=f"key of {name}", outputs=(VECTOR,))


def send(name: str, *inputs: str, after: tuple[str, ...] = ()) -> NodeDef:
    return node(name, *inputs, op=SEND, key=f"key of {name}", outputs=(), after=after)


def neg(name: str, *inputs: str, after: tuple[str, ...] = ()) -> NodeDef:
    ops = {0: "NoOp", 1: "Neg", 2: "AddV2"}
    outputs = (VECTOR,) if inputs else ()
    return node(name, *inputs, op=ops[len(inputs)], after=after, outputs=outputs)


def members(made: CompiledPartition) -> list[list[str]]:
    """The names of the nodes of each segment, in order."""
    nodes = made.partition.nodes
    return [[nodes[line.node].name for line in s.code if line.node is not None and line.value] for s in made.segments]


# -- segments --------------------------------------------------------------------------------------


def test_without_arrivals_there_is_one_segment() -> None:
    made = compiled(feed("x"), neg("a", "x"), neg("b", "a"), send("s", "a"), fetches="b")
    assert members(made) == [["a", "b", "s"]]
    (segment,) = made.segments
    assert (segment.waits, segment.after) == ((), ())
    # Nodes keep the order of the partition.
    names = [f"n{i}" for i in (3, 1, 2, 0)]
    made = compiled(feed("x"), *(neg(name, "x") for name in names), fetches=" ".join(names))
    assert members(made) == [names]
    # An empty partition has no segments.
    assert compiled().segments == ()
    # An argument is passed once however often it is read.
    made = compiled(feed("x"), neg("a", "x", "x"), neg("b", "x"), fetches="a b")
    assert len(made.segments[0].arguments) == 1


def test_nodes_that_wait_for_the_same_arrivals_share_a_segment() -> None:
    made = compiled(
        feed("x"),
        recv("r"),
        recv("q"),
        neg("before", "x"),
        neg("after_r", "r", "x"),
        neg("after_q", "q"),
        neg("after_both", "after_q", "after_r"),
        neg("again_r", "after_r"),
        neg("too", "before", "again_r"),
        fetches="too after_both",
    )
    assert members(made) == [["before"], ["after_r", "again_r", "too"], ["after_q"], ["after_both"]]
    slot = {key: slot for slot, key in made.recvs}
    r, q = slot["key of r"], slot["key of q"]
    assert [s.waits for s in made.segments] == [(), (r,), (q,), (r, q)]
    assert [s.after for s in made.segments] == [(), (0,), (), (1, 2)]
    # Control inputs make a node wait as well.
    made = compiled(recv("r"), neg("a"), neg("b", after=("r",)), neg("c", after=("b", "a")))
    assert members(made) == [["a"], ["b", "c"]]
    assert made.segments[1].after == (0,)
    assert made.segments[1].waits == (made.recvs[0][0],)
    # A segment stands behind those it depends on.
    nodes = [recv(f"r{i}") for i in range(4)]
    nodes.append(neg("all", "r3", "r2"))
    nodes.append(neg("more", "all", "r1"))
    nodes += [neg(f"one{i}", f"r{i}") for i in range(4)]
    made = compiled(*nodes, fetches="more one0 one1 one2 one3")
    for index, segment in enumerate(made.segments):
        assert all(before < index for before in segment.after)


def test_what_only_leaves_has_a_segment_to_do_it() -> None:
    made = compiled(feed("x"), fetches="x")
    assert members(made) == [[]]
    assert made.segments[0].arguments == (made.feeds[0][0],)
    # Arrivals that only leave have a segment that waits.
    made = compiled(feed("x"), recv("r"), neg("a", "x"), fetches="r a")
    assert members(made) == [["a"], []]
    assert made.segments[1].waits == (made.recvs[0][0],)
    assert made.fetches[0][1] in made.segments[1].results
    # Constants belong to no segment.
    k = node("k", op="Const", value=np.ones(3, np.float32), outputs=(VECTOR,))
    made = compiled(k, recv("r"), neg("a", "k", "r"), fetches="a k")
    assert members(made) == [[], ["a"]]
    assert made.segments[1].arguments == (made.recvs[0][0],)


# -- slots -----------------------------------------------------------------------------------------


def test_feeds_and_arrivals_have_slots_with_what_they_are_known_by() -> None:
    made = compiled(feed("x", 5), feed("y", 2), recv("r"), neg("a", "x", "y"), neg("b", "r"))
    assert [position for _, position in made.feeds] == [5, 2]
    assert [key for _, key in made.recvs] == ["key of r"]
    slots = [slot for slot, _ in (*made.feeds, *made.recvs)]
    assert sorted(slots) == list(range(3))
    assert made.slots == 3
    # Only values that cross segments have slots.
    made = compiled(
        feed("x"),
        recv("r"),
        neg("local", "x"),
        neg("crosses", "local"),
        neg("reads", "crosses", "r"),
        neg("too", "crosses", "reads"),
        fetches="too",
    )
    first, second = made.segments
    (crossing,) = first.results
    assert crossing in second.arguments
    assert made.slots == 4, "the feed, the arrival, the crossing value and the fetch"


def test_each_slot_is_written_once_and_its_readers_are_counted() -> None:
    made = compiled(
        feed("x"),
        recv("r"),
        recv("q"),
        neg("a", "x"),
        neg("b", "a", "r"),
        neg("c", "a", "q"),
        neg("d", "c", "b"),
        fetches="d a a",
    )
    written = [slot for s in made.segments for slot in s.results]
    written += [slot for slot, _ in (*made.feeds, *made.recvs)]
    assert sorted(written) == list(range(made.slots))
    for slot in range(made.slots):
        assert made.readers[slot] == sum(s.arguments.count(slot) for s in made.segments)
    assert len({slot for _, slot in made.fetches}) == 3
    assert [position for position, _ in made.fetches] == [0, 1, 2]


def test_sends_are_numbered_in_the_order_of_the_code() -> None:
    made = compiled(
        feed("x"),
        recv("r"),
        neg("b", "r"),
        send("late", "b"),
        neg("a", "x"),
        send("early", "a"),
        send("token", after=("a",)),
    )
    assert made.sends == ("key of early", "key of token", "key of late")
    lines = [line.partition("  #")[0].strip() for s in made.segments for line in s.lines]
    calls = [line for line in lines if line.startswith("C.send")]
    assert calls[0].startswith("C.send(0, v")
    assert calls[1] == "C.send(1, TOKEN)"
    assert calls[2].startswith("C.send(2, v")


# -- estimates -------------------------------------------------------------------------------------


def test_the_cost_of_a_segment_is_that_of_its_nodes() -> None:
    big = spec("float32", [1000, 1000])
    x = node("x", op=ARG, index=0, outputs=(big,))
    once = compiled(x, node("a", "x", op="Neg", outputs=(big,)), fetches="a").segments[0]
    twice = compiled(
        x, node("a", "x", op="Neg", outputs=(big,)), node("b", "a", op="Neg", outputs=(big,)), fetches="b"
    ).segments[0]
    assert twice.cost == pytest.approx(2 * once.cost)
    assert once.cost_known
    assert not once.is_light
    unknown = spec("float32", None)
    y = node("y", op=ARG, index=0, outputs=(unknown,))
    made = compiled(y, node("a", "y", op="Neg", outputs=(unknown,)), fetches="a").segments[0]
    assert not made.cost_known
    assert made.is_light
    # Compiling asks for no resources.
    handle = node("v", op="VarHandleOp", outputs=(spec("resource", ()),))
    variable: Any = {"dtype": VECTOR.dtype, "shape": VECTOR.shape}
    read = node("read", "v", op="ReadVariableOp", outputs=(VECTOR,), **variable)
    assert members(compiled(handle, read, fetches="read")) == [["read"]]
