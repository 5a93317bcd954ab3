"""A placed graph is cut into one part per device, what crosses the cut is sent once, and under which key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, NodeDef, TensorShape, float32, placeholder
from actorsession.errors import InternalError, InvalidArgumentError, ProtocolError
from actorsession.extend import DeviceAttributes, DeviceSet, Partition, RunSignature, StepGraph
from actorsession.graph.node import spec
from actorsession.plan.partition import CONTROL_TOKEN, RECV, SEND, partition, validate
from actorsession.plan.prune import ARG, GraphView, prune
from actorsession.plan.rendezvous_key import RendezvousKey, build_key, parse_key
from tests.plan.kit import CPU, Made, device_set, node, scalar
from tests.rows import for_each, refusing


def step_graph(nodes: Sequence[NodeDef], fetches: str = "", feeds: str = "", targets: str = "") -> StepGraph:
    return prune(GraphView(nodes), RunSignature(tuple(feeds.split()), tuple(fetches.split()), tuple(targets.split())))


def cut(
    nodes: Sequence[NodeDef], where: Mapping[str, int], fetches: str = "", feeds: str = "", targets: str = ""
) -> dict[int, Partition]:
    """The parts by processor number; nodes that ``where`` leaves out are on the first."""
    graph = step_graph(nodes, fetches, feeds, targets)
    parts = partition(graph, {name: CPU[where.get(name, 0)] for name in graph.nodes}, device_set(3))
    return {CPU.index(part.device): part for part in parts}


def names(part: Partition) -> list[str]:
    return [n.name for n in part.nodes]


def ops(part: Partition) -> list[str]:
    return [n.op for n in part.nodes]


def find(part: Partition, name: str) -> NodeDef:
    return next(n for n in part.nodes if n.name == name)


K = node("k", op="Const", value=np.float32(1))
# A node that starts a chain and is not copied, unlike constants.
START = node("start", op="VarHandleOp", device="/cpu:0")


def test_on_one_device_the_graph_stays_whole() -> None:
    nodes = [K, node("a", "k"), node("b", "a", after=["k"])]
    graph = step_graph(nodes, "b:0")
    parts = cut(nodes, {}, "b:0")
    assert list(parts) == [0]
    assert parts[0].nodes == tuple(graph.nodes.values())
    assert parts[0].fetches == ((0, "b", 0),)
    assert parts[0].feeds == ()
    # Nothing to do makes no part.
    assert cut([K], {}) == {}
    assert cut([K], {}, "k:0")[0].task == "/job:localhost/replica:0/task:0"


# -- data edges ------------------------------------------------------------------------------------


def test_an_edge_between_devices_becomes_a_send_and_a_recv_under_one_key() -> None:
    parts = cut([START, node("a", "start"), node("b", "a")], {"b": 1}, "b:0")
    send, recv = parts[0].nodes[-1], parts[1].nodes[0]
    assert (send.op, recv.op) == (SEND, RECV)
    assert send.inputs == (("a", 0),)
    assert send.outputs == ()
    assert recv.inputs == ()
    assert recv.outputs == (scalar,)
    assert find(parts[1], "b").inputs == ((recv.name, 0),)
    assert send.attrs["key"] == recv.attrs["key"]
    assert send.source == recv.source == "a.py:1"


def test_the_key_has_the_incarnation_of_the_producing_device() -> None:
    key = parse_key(cut([START, node("a", "start"), node("b", "a")], {"a": 1, "b": 2}, "b:0")[2].nodes[0].attrs["key"])
    assert (key.src_device, key.dst_device) == (CPU[1], CPU[2])
    assert key.src_incarnation == device_set(3).by_name[CPU[1]].incarnation == 2
    assert "a:0" in key.edge_name


def test_one_transfer_serves_all_consumers_at_a_destination() -> None:
    nodes = [START, node("a", "start"), *(node(f"b{i}", "a") for i in range(4))]
    parts = cut(nodes, {"b0": 1, "b1": 1, "b2": 1, "b3": 2}, "b0:0 b1:0 b2:0 b3:0")
    assert ops(parts[0]).count(SEND) == 2
    assert ops(parts[1]).count(RECV) == ops(parts[2]).count(RECV) == 1
    assert len({find(parts[1], f"b{i}").inputs[0] for i in range(3)}) == 1


def test_each_output_travels_by_itself() -> None:
    nodes = [
        START,
        node("s", "start", op="Unpack", outputs=(scalar, spec("int32", [2]))),
        node("y", "s:1", "s:0", "s:1", op="AddN"),
    ]
    parts = cut(nodes, {"y": 1}, "y:0")
    assert [n.inputs for n in parts[0].nodes if n.op == SEND] == [(("s", 1),), (("s", 0),)]
    recvs = {n.name: n for n in parts[1].nodes if n.op == RECV}
    one, zero, again = find(parts[1], "y").inputs
    assert one == again != zero
    assert recvs[one[0]].outputs == (spec("int32", [2]),)
    assert recvs[zero[0]].outputs == (scalar,)


def test_every_key_is_used_once() -> None:
    nodes = [START, *(node(f"a{i}", "start") for i in range(5))]
    nodes += [node(f"b{i}", f"a{i}", f"a{(i + 1) % 5}", op="AddV2") for i in range(5)]
    where = {f"b{i}": 1 + i % 2 for i in range(5)}
    parts = cut(nodes, where, " ".join(f"b{i}:0" for i in range(5)))
    keys = [n.attrs["key"] for part in parts.values() for n in part.nodes if n.op == SEND]
    crossing = {(a, where[f"b{i}"]) for i in range(5) for a in (i, (i + 1) % 5)}
    assert len(keys) == len(set(keys)) == len(crossing)
    assert sorted(keys) == sorted(n.attrs["key"] for part in parts.values() for n in part.nodes if n.op == RECV)


def test_a_value_leaves_right_behind_its_producer() -> None:
    """Not where its consumer was met: a hundred other nodes may stand before that."""
    nodes = [START, node("a", "start"), node("later", "start"), node("b", "a")]
    parts = cut(nodes, {"b": 1}, "b:0 later:0")
    assert ops(parts[0]) == ["VarHandleOp", "Identity", SEND, "Identity"]
    nodes = [START, node("a", "start"), node("b", "a"), node("c", "b"), node("d", "c")]
    parts = cut(nodes, {"b": 1, "d": 1}, "d:0")
    assert ops(parts[0]) == ["VarHandleOp", "Identity", SEND, RECV, "Identity", SEND]
    assert ops(parts[1]) == [RECV, "Identity", SEND, RECV, "Identity"]


def test_a_resource_never_travels() -> None:
    nodes = [node("v", op="VarHandleOp", outputs=(spec("resource", ()),)), node("r", "v")]
    with pytest.raises(InternalError, match="the resource of 'v' would have to be sent"):
        cut(nodes, {"r": 1}, "r:0")


# -- halved ----------------------------------------------------------------------------------------

TASKS = [f"/job:w/replica:0/task:{i // 2}/device:CPU:{i % 2}" for i in range(4)]


def cut_over_tasks(
    nodes: Sequence[NodeDef], where: Mapping[str, int], fetches: str, *, halved: bool = True
) -> dict[int, Partition]:
    """The parts by number in ``TASKS``: two devices of one task, then two of another."""
    graph = step_graph(nodes, fetches)
    devices = DeviceSet([DeviceAttributes(name=n, device_type="CPU", incarnation=i) for i, n in enumerate(TASKS)])
    device_of = {name: TASKS[where.get(name, 0)] for name in graph.nodes}
    parts = partition(graph, device_of, devices, bfloat16_transfers=halved)
    return {TASKS.index(part.device): part for part in parts}


def test_float32_goes_from_task_to_task_as_bfloat16_when_asked() -> None:
    parts = cut_over_tasks([START, node("a", "start"), node("b", "a")], {"b": 2}, "b:0")
    narrow, send = parts[0].nodes[-2:]
    recv, widen, b = parts[2].nodes
    half = spec("bfloat16", ())
    assert (narrow.op, narrow.inputs, narrow.outputs) == ("Cast", (("a", 0),), (half,))
    assert send.inputs == ((narrow.name, 0),)
    assert (recv.op, recv.outputs) == (RECV, (half,))
    assert (widen.op, widen.inputs, widen.outputs) == ("Cast", ((recv.name, 0),), (scalar,))
    assert b.inputs == ((widen.name, 0),)
    assert send.attrs["key"] == recv.attrs["key"]
    assert {n.source for n in (narrow, send, recv, widen)} == {"a.py:1"}


def test_one_halved_transfer_serves_all_consumers_at_a_destination() -> None:
    nodes = [START, node("a", "start"), *(node(f"b{i}", "a") for i in range(3))]
    parts = cut_over_tasks(nodes, {"b0": 2, "b1": 2, "b2": 3}, "b0:0 b1:0 b2:0")
    assert ops(parts[0]) == ["VarHandleOp", "Identity", "Cast", SEND, "Cast", SEND]
    assert ops(parts[2]) == [RECV, "Cast", "Identity", "Identity"]
    assert ops(parts[3]) == [RECV, "Cast", "Identity"]


@for_each(
    "consumer, dtype, halved",
    [(1, "float32", True), (2, "float64", True), (2, "float16", True), (2, "float32", False)],
    ids=["same-task", "float64", "float16", "not-asked"],
)
def test_nothing_else_is_halved(consumer: int, dtype: str, halved: bool) -> None:
    made = spec(dtype, [2])
    nodes = [START, node("a", "start", outputs=[made]), node("b", "a", outputs=[made])]
    parts = cut_over_tasks(nodes, {"b": consumer}, "b:0", halved=halved)
    assert ops(parts[0]) == ["VarHandleOp", "Identity", SEND]
    assert [n.outputs for n in parts[consumer].nodes] == [(made,), (made,)]


def test_a_control_edge_is_not_halved() -> None:
    nodes = [START, node("a", "start"), node("b", op="NoOp", after=["a"], outputs=())]
    assert step_graph(nodes, targets="b").targets == ("b",)
    assert ops(cut_over_tasks([*nodes, node("c", "start", after=["b"])], {"b": 2}, "c:0")[2]) == [RECV, "NoOp", SEND]


@pytest.mark.parametrize("shape", [(), (7,)], ids=str)
def test_a_halved_value_is_the_bfloat16_next_to_it_towards_zero(shape: tuple[int, ...]) -> None:
    """As in TensorFlow: cut off, not rounded, so that no finite value becomes infinite."""
    given = np.array([1 + 2**-8 + 2**-9, -(1 + 2**-8), 3.14159, -1.999, 3.4e38, np.inf, 0.0], np.float32)
    with Graph().as_default() as graph:
        x = placeholder("float32", shape)
        with graph.device("/cpu:0"):
            here = x * 1.0
        with graph.device("/cpu:1"):
            there = here * 1.0
    made = Made(graph, [here, there], [x], devices=2)
    device_of = {n: TASKS[0 if d == CPU[0] else 2] for n, d in made.device_of.items()}
    devices = DeviceSet([DeviceAttributes(name=n, device_type="CPU", incarnation=i) for i, n in enumerate(TASKS)])
    made.parts = partition(made.step_graph, device_of, devices, bfloat16_transfers=True)
    made.linked = [made._link(part, True) for part in made.parts]
    for fed in [given] if shape else list(given):
        exact, halved = made.run(fed)
        np.testing.assert_array_equal(exact, fed)
        assert halved.dtype == np.float32
        rounded = np.asarray(fed).astype(ml_dtypes.bfloat16)
        beyond = np.abs(rounded.astype(np.float32)) > np.abs(fed)
        below = np.nextafter(rounded, np.zeros((), ml_dtypes.bfloat16))
        np.testing.assert_array_equal(halved, np.where(beyond, below, rounded).astype(np.float32))


def test_a_control_edge_between_devices_sends_a_token() -> None:
    nodes = [node("a"), node("b", after=["a"])]
    parts = cut(nodes, {"b": 1}, targets="b")
    send, recv = parts[0].nodes[-1], parts[1].nodes[0]
    assert (send.inputs, send.control_inputs) == ((), ("a",))
    assert recv.outputs[0] == spec("uint8", ())
    assert find(parts[1], "b").control_inputs == (recv.name,)
    assert "^a" in parse_key(send.attrs["key"]).edge_name
    assert CONTROL_TOKEN.dtype == np.uint8
    assert CONTROL_TOKEN.shape == ()
    # One token serves all that wait at a destination.
    nodes = [node("a"), *(node(f"b{i}", after=["a"]) for i in range(3))]
    parts = cut(nodes, {f"b{i}": 1 for i in range(3)}, targets="b0 b1 b2")
    assert ops(parts[1]).count(RECV) == 1
    # A data edge and a control edge from one node are two transfers.
    nodes = [START, node("a", "start"), node("b", "a"), node("c", after=["a"])]
    parts = cut(nodes, {"b": 1, "c": 1}, "b:0", targets="c")
    assert ops(parts[0]).count(SEND) == 2
    # A control edge on a copied node is kept within the part.
    parts = cut([K, node("b", after=["k"])], {"b": 1}, targets="b")
    assert names(parts[1]) == ["k", "b"]
    assert find(parts[1], "b").control_inputs == ("k",)


# -- what is copied --------------------------------------------------------------------------------


def test_feeds_and_plain_constants_are_copied_to_every_part_that_reads_them() -> None:
    nodes = [node("ph", op="Placeholder"), K, node("a", "ph", "k", op="AddV2"), node("b", "ph", "k", op="AddV2")]
    parts = cut(nodes, {"a": 1, "b": 2}, "a:0 b:0", feeds="ph:0")
    assert sorted(parts) == [1, 2], "the client device has nothing to do"
    for number in (1, 2):
        assert ops(parts[number]) == [ARG, "Const", "AddV2"]
        assert parts[number].feeds == (0,)


def test_a_constant_that_somebody_asked_a_device_for_stays_there() -> None:
    for extra in ({"device": "/cpu:0"}, {"_class": ["loc:@start"]}, {"after": ["start"]}):
        assert SEND in ops(cut([START, node("k", op="Const", value=1.0, **extra), node("a", "k")], {"a": 1}, "a:0")[0])


def test_what_is_copied_is_fetched_and_targeted_at_the_client() -> None:
    parts = cut([K, node("a", "k")], {"k": 1, "a": 1}, "a:0 k:0", targets="k")
    assert parts[0].fetches == ((1, "k", 0),)
    assert names(parts[0]) == ["k"]
    assert parts[1].fetches == ((0, "a", 0),)


def test_the_part_of_the_client_device_comes_first() -> None:
    nodes = [START, node("a", "start"), node("b", "a")]
    graph = step_graph(nodes, "b:0")
    device_of = {"start": CPU[1], "a": CPU[1], "b": CPU[0]}
    assert [p.device for p in partition(graph, device_of, device_set(2))] == [CPU[0], CPU[1]]
    other = DeviceSet(device_set(2).devices, client_device=CPU[1])
    assert [p.device for p in partition(graph, device_of, other)] == [CPU[1], CPU[0]]
    # The same graph is cut the same way.
    nodes = [START, *(node(f"a{i}", "start") for i in range(6))]
    where = {f"a{i}": i % 3 for i in range(6)}
    fetches = " ".join(f"a{i}:0" for i in range(6))
    assert cut(nodes, where, fetches) == cut(nodes, where, fetches)


GRAPH = step_graph([START, node("a", "start"), node("b", "a"), node("c", "b")], "c:0")
GOOD = partition(GRAPH, {"start": CPU[0], "a": CPU[0], "b": CPU[1], "c": CPU[1]}, device_set(2))


def test_a_cut_is_valid() -> None:
    validate(GRAPH, GOOD)


def with_nodes(part: Partition, nodes: Sequence[NodeDef]) -> Partition:
    return replace(part, nodes=tuple(nodes))


def broken(rule: str) -> tuple[Partition, ...]:
    first, second = GOOD
    match rule:
        case "input in another part":
            return first, with_nodes(second, [node("b", "a"), find(second, "c")])
        case "input made later":
            return first, with_nodes(second, second.nodes[::-1])
        case "output that is not there":
            nodes = [*second.nodes[:-1], node("c", "b:1")]
            return first, with_nodes(second, nodes)
        case "control input in another part":
            nodes = [*second.nodes[:-1], node("c", "b", after=["a"])]
            return first, with_nodes(second, nodes)
        case "twice in a part":
            return with_nodes(first, [*first.nodes, first.nodes[0]]), second
        case "in two parts":
            return first, with_nodes(second, [*second.nodes, first.nodes[0]])
        case "sent and never received":
            unasked = replace(first.nodes[-1], name="unasked", attrs={"key": "unasked"})
            return with_nodes(first, [*first.nodes, unasked]), second
        case "received and never sent":
            return with_nodes(first, [n for n in first.nodes if n.op != SEND]), second
        case "sent twice":
            return with_nodes(first, [*first.nodes, replace(first.nodes[-1], name="again")]), second
        case "fetch nowhere":
            return first, replace(second, fetches=())
        case "fetch twice":
            return replace(first, fetches=((0, "a", 0),)), second
        case "fetch in the wrong part":
            return replace(first, fetches=second.fetches), replace(second, fetches=())
        case "unknown type":
            return with_nodes(first, [*first.nodes, node("x", op="NoSuchOp")]), second
    raise AssertionError(rule)


test_a_broken_rule_is_an_internal_error_that_names_the_node = refusing(
    ("input in another part", r"'b' on .*CPU:1 reads 'a:0', which is not computed there before it"),
    ("input made later", r"'c' on .*CPU:1 reads 'b:0', which is not computed there before it"),
    ("output that is not there", r"'c' on .* reads 'b:1', which is not computed there"),
    ("control input in another part", r"'c' on .* runs after 'a', which is not computed there"),
    ("twice in a part", r"'start' occurs twice on .*CPU:0"),
    ("in two parts", r"'start' is on .*CPU:0 and on .*CPU:1"),
    ("sent and never received", r"sends and receives do not match: \['unasked'\]"),
    ("received and never sent", r"sends and receives do not match: .*edge_0_a:0"),
    ("sent twice", r"'again' repeats the key '.*edge_0_a:0"),
    ("fetch nowhere", r"fetches \[\] of 1"),
    ("fetch twice", r"fetches \[0, 0\] of 1"),
    ("fetch in the wrong part", r"'c:0' is fetched on .*CPU:0 but not computed there"),
    ("unknown type", "'x' is of type 'NoSuchOp', which is not registered"),
    of=lambda rule: validate(GRAPH, broken(rule)),
    error=InternalError,
)


# -- the wire --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", GOOD, ids=["source", "destination"])
def test_a_part_comes_back_as_it_was_sent(part: Partition) -> None:
    part = replace(part, nodes=tuple([_complete(node) for node in part.nodes]))
    for each in (part, replace(part, compiles=True)):
        assert Partition.from_wire(each.to_wire()) == each


def _complete(node: NodeDef) -> NodeDef:
    """The node, in the place of one that no graph would have, as a graph would have it."""
    if node.op != "VarHandleOp":
        return node
    return replace(node, op="Placeholder", attrs={"dtype": float32, "shape": TensorShape([])})


FORMS: list[Any] = [
    None,
    [],
    {},
    [CPU[0], [], [[0]]],
    [CPU[0], [], [["0", "a", 0]]],
    [CPU[0], [[]], []],
    [3, [], []],
    [CPU[0], [], [], 1],
    [CPU[0], [], [], np.ones(2)],
    [CPU[0], [], [], True, True],
]


@for_each("wire", FORMS)
def test_another_form_is_a_protocol_error(wire: Any) -> None:
    with pytest.raises(ProtocolError):
        Partition.from_wire(wire)


@for_each(
    "nodes, fetches, said",
    [
        ([node("a", "b")], [], "'a' .* reads 'b:0', which is not computed there"),
        ([node("a", after=["b"])], [], "'a' .* runs after 'b'"),
        ([node("a"), node("a")], [], "'a' occurs twice on "),
        ([node("a", op="NoSuchOp")], [], "'NoSuchOp', which is not registered"),
        ([node("a")], [[0, "a", 1]], "'a:1' is fetched"),
        ([node("a")], [[0, "a", -1]], "'a:-1' is fetched"),
        ([node("a", op=ARG)], [], "not a valid _Arg of a plan"),
        ([node("a", op=ARG, index="0")], [], "not a valid _Arg of a plan"),
        ([node("a", op=ARG, index=0, outputs=())], [], "not a valid _Arg of a plan"),
        ([node("a", op=RECV, key=3)], [], "not a valid _Recv of a plan"),
        ([node("b"), node("a", "b", op=RECV, key="k")], [], "not a valid _Recv of a plan"),
        ([node("a", op=SEND, key="k")], [], "not a valid _Send of a plan"),
        ([node("b"), node("a", "b", op=SEND, key="k")], [], "not a valid _Send of a plan"),
    ],
)
def test_a_part_that_could_not_run_is_refused_when_read(nodes: list[NodeDef], fetches: list[Any], said: str) -> None:
    wire = [CPU[0], [n.to_wire() for n in nodes], fetches]
    with pytest.raises(ProtocolError, match=f"not a partition: .*{said}"):
        Partition.from_wire(wire)


SRC = "/job:worker/replica:0/task:1/device:CPU:0"


DST = "/job:ps/replica:0/task:0/device:CPU:3"


KEY = f"{SRC};0000000000001ed2;{DST};edge_7_x:0;2:5"


def test_a_key_reads_as_documented() -> None:
    assert build_key(SRC, 0x1ED2, DST, "edge_7_x:0", 2, 5) == KEY
    assert build_key(SRC, 1, DST, "e").endswith(";e;0:0")
    assert parse_key(KEY) == RendezvousKey(KEY, SRC, 0x1ED2, DST, "edge_7_x:0", 2, 5)
    key = parse_key(KEY)
    assert key.src_task == "/job:worker/replica:0/task:1"
    assert key.dst_task == "/job:ps/replica:0/task:0"
    # A restarted device makes other keys.
    assert build_key(SRC, 1, DST, "e") != build_key(SRC, 2, DST, "e")


def test_older_spellings_of_devices_are_full_names_too() -> None:
    """The example of TensorFlow's own documentation, less a blank in its edge's name."""
    text = "/job:mnist/replica:1/task:2/CPU:0;0000000000001ed2;/job:mnist/replica:1/task:2/GPU:0;var0;26:0"
    key = parse_key(text)
    assert (key.text, key.frame_id, key.edge_name) == (text, 26, "var0")
    assert key.src_task == key.dst_task == "/job:mnist/replica:1/task:2"


@given(
    incarnation=st.integers(0, 2**64 - 1),
    edge=st.text(st.characters(exclude_characters=";"), min_size=1),
    frame=st.integers(0, 2**62),
    iteration=st.integers(0, 2**62),
)
def test_what_was_built_is_parsed_back(incarnation: int, edge: str, frame: int, iteration: int) -> None:
    key = parse_key(build_key(SRC, incarnation, DST, edge, frame, iteration))
    assert (key.src_device, key.src_incarnation, key.dst_device) == (SRC, incarnation, DST)
    assert (key.edge_name, key.frame_id, key.iter_id) == (edge, frame, iteration)


@for_each(
    "text",
    [
        "",
        ";;;;",
        KEY.replace(";edge_7_x:0", ""),
        f"{KEY};more",
        KEY.replace("edge_7_x:0", ""),
        KEY.replace(SRC, ""),
        KEY.replace(SRC, "/job:worker/task:1"),
        KEY.replace(SRC, "/job:worker/replica:0/task:1/device:CPU:*"),
        KEY.replace(SRC, "nonsense"),
        KEY.replace(DST, "/device:CPU:0"),
        KEY.replace("0000000000001ed2", "1ed2"),
        KEY.replace("0000000000001ed2", "0000000000001ED2"),
        KEY.replace("0000000000001ed2", "000000000000000000001ed2"),
        KEY.replace("0000000000001ed2", "00000000000zzzzz"),
        KEY.replace("2:5", "2"),
        KEY.replace("2:5", "2:5:1"),
        KEY.replace("2:5", "-2:5"),
        KEY.replace("2:5", "2:5\n"),
        KEY.replace("2:5", "\u0662:5"),
    ],
)
def test_anything_else_is_an_invalid_argument(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"invalid rendezvous key .* the form is 'src_device;"):
        parse_key(text)


@given(st.text(alphabet=";/:jobtaskreplicdvCPU0123 ", max_size=80))
def test_any_text_is_a_key_or_an_invalid_argument(text: str) -> None:
    try:
        key = parse_key(text)
    except InvalidArgumentError:
        return
    assert key.text == text
