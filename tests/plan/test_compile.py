"""From a partition to segments and their slots; long functions are split."""

from __future__ import annotations

import ast
import builtins
import gc
import traceback
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, NodeDef, Session, Tensor, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import Partition, register_device_factory, registration_scope
from actorsession.graph.node import spec
from actorsession.plan.codegen import outline
from actorsession.plan.codegen.compile import CompiledPartition, compile_partition
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from tests.default_device import LOCAL
from tests.plan.kit import CPU, Made, call, node
from tests.rows import for_each
from tests.runtime.own_arrays import Boxes

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
    nodes = made.partition.nodes
    return [[nodes[line.node].name for line in s.code if line.node is not None and line.value] for s in made.segments]


# -- devices with arrays of their own --------------------------------------------------------------


@for_each("own, third", [(True, "own(h[0])"), (False, "h[0]")])
def test_a_value_that_is_returned_twice_goes_to_the_host_once(own: bool, third: str) -> None:
    class Gathering(Boxes):
        kernels = replace(Boxes.kernels, all_to_host=lambda device: lambda *boxes: boxes)

    with registration_scope():
        register_device_factory("GATHER", Gathering())
        part = Partition(f"{LOCAL}GATHER:0", (feed("x"), neg("y", "x", "x")), ((0, "x", 0), (1, "y", 0), (2, "x", 0)))
        [segment] = compile_partition(part, own_fetches=own).segments
    assert segment.lines[-1] == f"    return ((h := all_on_host(v0, v1))[0], h[1], {third}, )"


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
    assert sorted([slot for slot, _ in (*made.feeds, *made.recvs)]) == list(range(3))
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


# Lines of the longest function, a tenth of what they are: whatever makes many nodes takes its time.
LONGEST = outline.LONGEST


# Nodes of a graph whose function is split.
MANY = 4 * LONGEST


def lengths(lines: tuple[str, ...]) -> list[int]:
    """The lines of each function of a text."""
    found = ast.parse("\n".join(lines)).body
    return [f.end_lineno - f.lineno for f in found if isinstance(f, ast.FunctionDef) and f.end_lineno]


def mixed(x: Tensor, count: int) -> list[Tensor]:
    """Nodes of which some read the one before, and some what was made long before."""
    made = [x]
    for k in range(count):
        made.append(made[-1] + made[k // 2] if k % 3 else made[-1] * 0.5)
    return made


def mixed_values(x: Any, count: int) -> list[Any]:
    made = [x]
    for k in range(count):
        made.append(made[-1] + made[k // 2] if k % 3 else made[-1] * np.float32(0.5))
    return made


@for_each("shape", [[], [3]], ids=["scalars", "arrays"])
@for_each("traced", [False, True], ids=["plain", "traced"])
def test_a_long_function_is_split_and_computes_the_same(graph: Graph, shape: list[int], traced: bool) -> None:
    x = ops.placeholder("float32", shape)
    nodes = mixed(x, MANY)
    wanted = [0, 1, MANY // 2, MANY - 1, MANY]
    made = Made(graph, [nodes[k] for k in wanted], [x])
    (segment,) = made.linked[0].segments
    assert max(lengths(segment.segment.lines)) <= LONGEST
    fed = np.full(shape, 1e-9, np.float32)[()]
    if traced:
        assert [f.__code__.co_name for f in (made.linked[0].traced(0),)] == ["segment_0"]
        assert len(lengths(segment.segment.traced_lines)) == len(lengths(segment.segment.lines))
    values = mixed_values(fed, MANY)
    with np.errstate(all="ignore"):
        for got, k in zip(made.run(fed), wanted, strict=True):
            np.testing.assert_array_equal(got, values[k])


def test_a_function_that_is_not_long_is_left_whole(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    assert len(lengths(Made(graph, [mixed(x, LONGEST)[-1]], [x]).linked[0].segments[0].segment.lines)) == 1


def test_no_function_is_compiled_together_with_another_long_one(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever compiles holds the interpreter lock until it is through."""
    compiled: list[int] = []

    def spy(text: str, *rest: Any) -> Any:
        compiled.append(len([line for line in text.split("\n") if line]))
        return whole(text, *rest)

    whole = compile

    monkeypatch.setattr(builtins, "compile", spy)
    x = ops.placeholder("float32", [])
    Made(graph, [mixed(x, MANY)[-1]], [x])
    assert len(compiled) >= 4
    assert max(compiled) < 2 * LONGEST + 10


def test_loops_and_branches_are_split_inside(graph: Graph) -> None:
    x, n = ops.placeholder("float32", []), ops.placeholder("int32", [])

    def body(i: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(MANY):
            value = value + 1.0
        return i + 1, value

    def much() -> Tensor:
        value = x
        for _ in range(MANY):
            value = value + 2.0
        return value

    _, looped = ops.while_loop(lambda i, value: i < n, body, (0, x))
    made = Made(graph, [looped, ops.cond(x > 0.0, much, lambda: x - 1.0)], [x, n])
    (segment,) = made.linked[0].segments
    assert max(lengths(segment.segment.lines)) <= LONGEST
    for fed in (1.0, -1.0):
        branch = fed + 2.0 * MANY if fed > 0 else fed - 1.0
        got = made.run(np.float32(fed), np.int32(3))
        assert [float(v) for v in got] == [fed + 3.0 * MANY, branch]


def layers(x: Tensor, count: int, width: int = 10) -> Tensor:
    """The sum of the last of many layers of nodes, each of which reads two of the layer before."""
    now = [x + float(k) for k in range(width)]
    for _ in range(count // width):
        now = [ops.maximum(value, now[k - 1]) for k, value in enumerate(now)]
    return ops.add_n(now)


def places(made: Made) -> int:
    """The length of the list of values that the parts of a function share."""
    (shared,) = [line for line in made.linked[0].segments[0].segment.lines if "L = [" in line]
    return int(shared.rpartition("*")[2])


def test_the_shared_values_are_as_many_as_the_graph_is_wide_and_not_as_it_is_long(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    short, long = (Made(graph, [layers(x, count)], [x]) for count in (MANY, 4 * MANY))
    assert places(long) <= places(short) + 1
    got = long.run(np.float32(0.5))[0]
    now = np.arange(10, dtype=np.float32) + np.float32(0.5)
    for _ in range(4 * MANY // 10):
        now = np.maximum(now, np.roll(now, 1))
    np.testing.assert_allclose(got, now.sum(), rtol=1e-5)


def test_a_value_that_each_iteration_reads_first_keeps_its_place_until_the_loop_has_ended(graph: Graph) -> None:
    """In the order of the lines it is read for the last time before the others of the loop are made."""
    x = ops.placeholder("float32", [])
    factor = x * 3.0

    def body(i: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        made = [value * factor]
        for k in range(MANY):
            made.append(made[-1] + 0.0 * made[k // 2])
        return i + 1, made[-1]

    _, looped = ops.while_loop(lambda i, value: i < 4, body, (0, x))
    made = Made(graph, [looped], [x])
    assert places(made) > 2
    fed = np.float32(0.5)
    (got,) = made.run(fed)
    np.testing.assert_allclose(got, fed * (3.0 * fed) ** 4)


def test_a_part_has_the_global_names_of_its_own_nodes(graph: Graph) -> None:
    """Look-ups in a dictionary with the names of a large graph are slow; see ``bind``."""
    x = ops.placeholder("float32", [])
    value = x
    for _ in range(MANY // 2):
        value = ops.sqrt(ops.square(value) + 1.0)
    made = Made(graph, [value], [x])
    function: Any = made.linked[0].segments[0].function
    parts = [v for k, v in function.__globals__.items() if k.startswith("segment_0_")]
    assert len(parts) > 1
    for part in parts:
        assert 0 < len([name for name in part.__globals__ if name.startswith("k")]) < LONGEST
    np.testing.assert_allclose(made.run(np.float32(2.0))[0], np.sqrt(4.0 + MANY // 2), rtol=1e-4)


def test_an_error_in_a_part_names_its_node_and_the_line_that_built_it(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    end = mixed(ops.check_numerics(mixed(x, MANY)[MANY // 2], "half way", name="checked"), MANY)[-1]
    with Session(graph=graph) as session, pytest.raises(InvalidArgumentError) as info:
        session.run(end, {x: np.float32("nan")})
    assert info.value.node == "checked"
    text = "".join(traceback.format_exception(info.value.__cause__ or info.value))
    assert "# checked (CheckNumerics)" in text
    assert __file__ in text


def test_what_one_part_leaves_to_another_is_dropped_after_its_last_use(graph: Graph) -> None:
    """It is in a list that all parts share, and no local variable of any."""
    kept: list[Any] = []

    def make() -> Any:
        array = np.ones(3, np.float32)
        kept.append(weakref.ref(array))
        return array

    def is_gone(value: Any) -> Any:
        gc.collect()
        return np.float32(kept[0]() is None)

    x = ops.placeholder("float32", [])
    with graph.control_dependencies([x.op]):
        array = call(graph, make, shapes=[[3]]).outputs[0]
    with graph.control_dependencies([mixed(x, MANY)[-1].op]):
        last = ops.reduce_sum(array)
    with graph.control_dependencies([mixed(last, MANY)[-1].op]):
        gone = call(graph, is_gone, x, shapes=[[]]).outputs[0]
    made = Made(graph, [gone, last], [x])
    with np.errstate(all="ignore"):
        assert made.run(np.float32(1.0)) == [1.0, 3.0]


def test_the_sum_of_thousands_of_scalars_is_one_call(graph: Graph) -> None:
    """As one expression it is deeper than Python's compiler goes."""
    x = ops.placeholder("float32", [])
    made = Made(graph, [ops.add_n([x * float(k) for k in range(5000)])], [x])
    assert made.run(np.float32(2.0)) == [np.float32(sum(2.0 * k for k in range(5000)))]
