"""Where each node goes, and why."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from actorsession import DeviceSpec, NodeDef
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceAttributes, DeviceSet
from actorsession.graph.node import spec
from actorsession.graph.op_signatures import Signature, opsets, signature_of
from actorsession.graph.registry import lookup
from actorsession.plan.place import Placer
from actorsession.plan.references import HANDLE_OF, PASSES
from tests.plan.kit import CPU, device_set, node
from tests.rows import for_each

HANDLE = spec("resource", ())


def placer(count: int = 3, *, soft: bool = False) -> Placer:
    return Placer(device_set(count), allow_soft_placement=soft)


def places(nodes: list[NodeDef], count: int = 3, *, soft: bool = False) -> dict[str, int]:
    """The number of the processor that each node is put on."""
    placed = placer(count, soft=soft).place(nodes)
    return {name: CPU.index(where.device) for name, where in placed.items()}


def handle(name: str, device: str = "") -> NodeDef:
    return node(name, op="VarHandleOp", device=device, outputs=(HANDLE,))


def tied(name: str, *groups: str, device: str = "") -> NodeDef:
    """A node that is colocated with others."""
    return node(name, "k", device=device, _class=[f"loc:@{g}" for g in groups])


K = node("k", op="Const", value=1.0)


def the_signature(op_type: str) -> Signature:
    found = signature_of(op_type)
    assert found is not None
    return found


# -- requests --------------------------------------------------------------------------------------


def test_a_node_goes_where_it_asks_to_be() -> None:
    assert places([K, node("a", "k", device="/device:CPU:2")]) == {"k": 2, "a": 2}
    placed = placer().place([node("a", device="/cpu:1")])
    assert placed["a"].reason == "requested /device:CPU:1"


def test_a_node_that_asks_for_nothing_goes_to_the_client_device() -> None:
    placed = placer().place([K, node("a", "k")])
    assert placed["a"].device == CPU[0]
    assert placed["a"].reason == "no device requested: the client device"


def test_the_client_device_need_not_be_the_first() -> None:
    devices = DeviceSet(device_set(3).devices, client_device=CPU[1])
    placed = Placer(devices).place([node("a"), node("b", device="/job:localhost")])
    assert {w.device for w in placed.values()} == {CPU[1]}


@for_each("request_", ["/job:localhost", "/device:CPU:*", "/task:0", "/replica:0"])
def test_an_open_request_prefers_the_client_device(request_: str) -> None:
    assert places([node("a", device=request_)]) == {"a": 0}


def test_an_open_request_elsewhere_takes_the_first_device_there() -> None:
    names = [f"/job:worker/replica:0/task:{t}/device:CPU:{i}" for t in (0, 1) for i in (0, 1)]
    devices = [DeviceAttributes(name=n, device_type="CPU", incarnation=1) for n in names]
    placed = Placer(DeviceSet(devices)).place([node("a", device="/task:1")])
    assert placed["a"].device == names[2]


@for_each("request_", ["/cpu:7", "/gpu:0", "/job:ps", "/task:3"])
def test_a_device_that_does_not_exist_is_named_with_those_that_do(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="which does not exist here; the devices are") as e:
        places([node("a", device=request_)])
    assert str(DeviceSpec.parse(request_)) in e.value.message
    assert all(name in e.value.message for name in CPU[:3])
    assert (e.value.node, e.value.source) == ("a", "a.py:1")


def test_a_malformed_request_is_an_invalid_argument_of_its_node() -> None:
    with pytest.raises(InvalidArgumentError, match="malformed device name 'junk'") as caught:
        places([node("a", device="junk")])
    assert (caught.value.node, caught.value.source) == ("a", "a.py:1")


# -- soft placement --------------------------------------------------------------------------------


@pytest.mark.parametrize("request_", ["/cpu:7", "/gpu:0", "/job:localhost/task:0/gpu:1"])
def test_soft_placement_gives_up_type_and_number(request_: str) -> None:
    placed = placer(soft=True).place([node("a", device=request_)])
    assert placed["a"].device == CPU[0]
    assert placed["a"].reason.endswith("which does not exist; soft placement")


@pytest.mark.parametrize("request_", ["/job:ps/cpu:0", "/task:3/cpu:0"])
def test_soft_placement_never_changes_job_or_task(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="does not exist here"):
        places([node("a", device=request_)], soft=True)


def test_soft_placement_changes_no_request_that_can_be_met() -> None:
    assert places([node("a", device="/cpu:2")], soft=True) == {"a": 2}


# -- sources ---------------------------------------------------------------------------------------


def test_a_source_goes_where_its_only_consumer_is() -> None:
    placed = placer().place([K, node("a", "k", device="/cpu:2")])
    assert placed["k"].device == CPU[2]
    assert placed["k"].reason == "no device requested: placed with its consumer"


def test_consumers_on_one_device_count_as_one() -> None:
    nodes = [K, node("a", "k", device="/cpu:2"), node("b", "k", device="/cpu:2")]
    assert places(nodes) == {"k": 2, "a": 2, "b": 2}


def test_a_source_with_consumers_on_two_devices_stays_with_the_client() -> None:
    nodes = [K, node("a", "k", device="/cpu:2"), node("b", "k", device="/cpu:1")]
    assert places(nodes)["k"] == 0


def test_a_source_that_asked_or_reads_something_stays_where_it_is() -> None:
    nodes = [
        node("asked", op="Const", device="/cpu:1", value=1.0),
        node("reads", "asked"),
        node("a", "asked", "reads", op="AddV2", device="/cpu:2"),
    ]
    assert places(nodes) == {"asked": 1, "reads": 0, "a": 2}


def test_control_edges_move_no_source() -> None:
    assert places([K, node("a", after=["k"], device="/cpu:2")])["k"] == 0


# -- what reads no data ----------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["Shape", "Size", "Rank"])
def test_what_reads_no_data_of_its_input_stays_with_it(op: str) -> None:
    """Anywhere else, the whole input would travel for a few integers."""
    nodes = [K, node("a", "k", device="/cpu:2"), node("s", "a", op=op), node("next", "s")]
    made = placer()
    placed = made.place(nodes)
    assert [placed[n].device for n in ("s", "next")] == [CPU[2], CPU[0]]
    assert placed["s"].reason == "reads only static properties of 'a': placed with it"
    assert made.place([node("later", "a", op=op)])["later"].device == CPU[2]


def test_what_reads_no_data_goes_elsewhere_only_if_it_asks() -> None:
    nodes = [K, node("a", "k", device="/cpu:2")]
    nodes += [node("s", "a", op="Shape", device="/cpu:1")]
    nodes += [node("open", "a", op="Shape", device="/job:localhost")]
    assert places(nodes) == {"k": 2, "a": 2, "s": 1, "open": 2}


# -- groups ----------------------------------------------------------------------------------------


def test_colocated_nodes_share_a_device() -> None:
    nodes = [K, node("a", "k", device="/cpu:1"), tied("b", "a"), tied("c", "b")]
    placed = placer().place(nodes)
    assert [placed[n].device for n in "abc"] == [CPU[1]] * 3
    assert placed["a"].reason == "requested /device:CPU:1"
    assert placed["c"].reason == "colocated with 'a'"


def test_a_group_may_be_asked_for_by_any_member_and_named_beforehand() -> None:
    nodes = [K, tied("a", "c"), tied("b", "c"), node("c", "k", device="/cpu:2")]
    assert [places(nodes)[n] for n in "abc"] == [2, 2, 2]


def test_requests_of_members_are_merged_part_by_part() -> None:
    nodes = [K, tied("a", "a", device="/job:localhost"), tied("b", "a", device="/cpu:1")]
    assert [places(nodes)[n] for n in "ab"] == [1, 1]


def test_a_group_that_asks_for_nothing_goes_to_the_client() -> None:
    placed = placer().place([K, tied("a"), tied("b", "a")])
    assert placed["a"].device == placed["b"].device == CPU[0]


def test_its_own_name_ties_a_node_to_nobody() -> None:
    assert places([K, tied("a", "a", device="/cpu:1"), tied("b", "b")]) == {"k": 0, "a": 1, "b": 0}


def test_members_that_contradict_each_other_are_both_named_with_their_lines() -> None:
    nodes = [K, node("a", "k", device="/cpu:1"), tied("b", "a", device="/cpu:2")]
    with pytest.raises(
        InvalidArgumentError, match=r"'a' \(built at a.py:1\) for /device:CPU:1, 'b' for /device:CPU:2"
    ) as caught:
        places(nodes)
    assert (caught.value.node, caught.value.source) == ("b", "b.py:1")


def test_with_soft_placement_the_later_request_is_dropped() -> None:
    nodes = [K, node("a", "k", device="/cpu:1"), tied("b", "a", device="/cpu:2")]
    placed = placer(soft=True).place(nodes)
    assert placed["a"].device == placed["b"].device == CPU[1]
    assert placed["b"].reason == "requested /device:CPU:2, but is colocated with 'a'"


def test_a_group_that_names_no_node_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgumentError, match="'loc:@nope' of 'a' does not name a node") as caught:
        places([K, tied("a", "nope")])
    assert caught.value.node == "a"


# -- resources -------------------------------------------------------------------------------------


def test_what_uses_a_resource_goes_where_it_is() -> None:
    nodes = [handle("v", "/cpu:1"), node("read", "v", op="ReadVariableOp")]
    assert places(nodes) == {"v": 1, "read": 1}


@for_each(
    "op_type",
    sorted(
        name
        for name in itertools.chain.from_iterable(opsets().values())
        if any(arg.is_ref or arg.type == "resource" for arg in the_signature(name).inputs)
    ),
)
def test_every_type_that_takes_a_handle_or_reference_goes_where_that_is(op_type: str) -> None:
    reads = lookup(op_type).references or op_type in {*PASSES, HANDLE_OF}
    v = node("v", op="VariableV2", device="/cpu:1") if reads else handle("v", "/cpu:1")
    arguments = ["v" if arg.is_ref or arg.type == "resource" else "k" for arg in the_signature(op_type).inputs]
    for request in ("", "/cpu:2"):
        assert places([v, K, node("a", *arguments, op=op_type, device=request)])["a"] == 1


def test_a_read_of_a_reference_goes_to_its_variable_if_it_asks_for_nothing() -> None:
    v = node("v", op="VariableV2", device="/cpu:1")
    change = node("change", "v", "k", op="Assign")
    reads = [node("read", "v"), node("again", "change"), node("asks", "v", device="/cpu:2")]
    assert places([v, K, change, *reads, node("uses", "read", op="Neg")]) == {
        "v": 1,
        "k": 1,
        "change": 1,
        "read": 1,
        "again": 1,
        "asks": 2,
        "uses": 0,
    }
    placed = placer().place([v, *reads[:1]])
    assert placed["read"].reason == "reads the variable of 'v': placed with it"


def test_what_uses_a_resource_goes_there_whatever_it_asks_for() -> None:
    """As in TensorFlow, with soft placement and without."""
    nodes = [handle("v", "/cpu:1"), node("read", "v", op="ReadVariableOp", device="/cpu:2")]
    for soft in (False, True):
        placed = placer(soft=soft).place(nodes)
        assert placed["read"].device == CPU[1]
        assert placed["read"].reason == "requested /device:CPU:2, but is colocated with 'v'"


def test_a_resource_that_asks_for_nothing_goes_where_its_first_user_asks() -> None:
    nodes = [
        handle("v"),
        node("one", "v", op="ReadVariableOp", device="/cpu:2"),
        node("two", "v", op="ReadVariableOp", device="/cpu:1"),
    ]
    assert places(nodes) == {"v": 2, "one": 2, "two": 2}


def test_the_wish_of_what_makes_a_resource_counts_before_those_tied_to_it() -> None:
    """The reader stands first, as it may in an imported graph."""
    nodes = [node("read", "v", op="ReadVariableOp", device="/cpu:2"), handle("v", "/cpu:1")]
    assert places(nodes) == {"read": 1, "v": 1}


def test_what_is_tied_by_name_to_a_resource_must_agree_with_it() -> None:
    nodes = [handle("v", "/cpu:1"), K, tied("a", "v", device="/cpu:2")]
    with pytest.raises(InvalidArgumentError, match="request different ones"):
        places(nodes)


def test_what_is_beside_a_user_of_a_resource_and_took_its_wish_over_follows_it() -> None:
    """As gradients that stand beside a loop do, which reads a variable of another device."""
    nodes = [handle("v", "/cpu:1"), node("loop", "v", op="ReadVariableOp", device="/cpu:2")]
    after = [K, tied("zeros", "loop", device="/cpu:2")]
    assert places([*nodes, *after])["zeros"] == 1
    growing = placer()
    growing.place(nodes)
    assert growing.place(after)["zeros"].device == CPU[1]
    assert growing.place([tied("more", "v", device="/cpu:2")])["more"].device == CPU[1]
    with pytest.raises(InvalidArgumentError, match="colocated with 'loop'"):
        growing.place([tied("other", "loop", device="/cpu:0")])


def test_only_the_edge_that_carries_the_resource_ties() -> None:
    both = node("it", op="VarHandleOp", device="/cpu:1", outputs=(HANDLE, spec("float32", ())))
    nodes = [both, node("reads", "it:0", op="ReadVariableOp"), node("elsewhere", "it:1")]
    for batches in ([nodes], [nodes[:1], nodes[1:]]):
        made = placer()
        for batch in batches:
            made.place(batch)
        assert made.placed["reads"].device == CPU[1]
        assert made.placed["elsewhere"].device == CPU[0]


def test_two_resources_that_one_node_uses_share_a_device() -> None:
    nodes = [handle("v", "/cpu:1"), handle("w"), node("both", "v", "w", op="AddN")]
    assert places(nodes) == {"v": 1, "w": 1, "both": 1}
    with pytest.raises(InvalidArgumentError, match="request different ones: 'v'"):
        places([handle("v", "/cpu:1"), handle("w", "/cpu:2"), node("both", "v", "w", op="AddN")])


# -- a graph that grows ----------------------------------------------------------------------------


def test_nodes_placed_before_keep_their_device() -> None:
    made = placer()
    made.place([K])
    assert made.placed["k"].device == CPU[0]
    made.place([K, node("a", "k", device="/cpu:2")])
    assert made.placed["k"].device == CPU[0], "although its only consumer is elsewhere"
    assert made.placed["a"].device == CPU[2]


def test_only_the_new_nodes_are_returned() -> None:
    made = placer()
    made.place([K])
    assert list(made.place([K, node("a", "k")])) == ["a"]
    assert list(made.placed) == ["k", "a"]


def test_new_nodes_join_those_they_are_tied_to() -> None:
    made = placer()
    made.place([handle("v", "/cpu:1"), K, node("a", "k", device="/cpu:2")])
    placed = made.place([node("read", "v", op="ReadVariableOp"), tied("b", "a")])
    assert placed["read"].device == CPU[1]
    assert placed["read"].reason == "colocated with 'v'"
    assert placed["b"].device == CPU[2]


def test_a_new_user_of_an_old_resource_goes_there_whatever_it_asks_for() -> None:
    made = placer()
    made.place([handle("v", "/cpu:1")])
    placed = made.place([node("read", "v", op="ReadVariableOp", device="/cpu:2")])
    assert placed["read"].device == CPU[1]
    assert placed["read"].reason.startswith("requested /device:CPU:2, but is colocated with")


def test_a_new_node_that_contradicts_an_old_one_is_refused() -> None:
    made = placer()
    made.place([K, node("a", "k", device="/cpu:1")])
    with pytest.raises(InvalidArgumentError, match=r"'b' requests /device:CPU:2 but must be colocated with"):
        made.place([tied("b", "a", device="/cpu:2")])
    assert "b" not in made.placed
    made = placer(soft=True)
    made.place([K, node("a", "k", device="/cpu:1")])
    assert made.place([tied("b", "a", device="/cpu:2")])["b"].device == CPU[1]


@pytest.mark.parametrize("soft", [False, True])
def test_a_new_node_cannot_be_in_two_places(soft: bool) -> None:
    made = placer(soft=soft)
    made.place([K, node("a", "k", device="/cpu:1"), node("b", "k", device="/cpu:2")])
    with pytest.raises(InvalidArgumentError, match=r"'c' must be colocated with '.' .*, and also be on"):
        made.place([tied("c", "a", "b")])


def test_a_failure_leaves_everything_as_it_was() -> None:
    made = placer()
    made.place([K])
    before = dict(made.placed)
    good, bad = handle("v", "/cpu:1"), node("a", device="/gpu:0")
    with pytest.raises(InvalidArgumentError):
        made.place([good, bad])
    assert dict(made.placed) == before
    # The resource of the failed batch is not remembered either.
    placed = made.place([node("read", "v", op="ReadVariableOp")])
    assert placed["read"].device == CPU[0]


# -- device sets -----------------------------------------------------------------------------------


def test_a_device_set_is_not_empty() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one device"):
        DeviceSet([])


def test_the_client_device_is_one_of_the_set() -> None:
    with pytest.raises(InvalidArgumentError, match="is not one of"):
        DeviceSet(device_set(1).devices, client_device=CPU[1])


@for_each(
    "request_, found", [("", [0, 1, 2]), ("/cpu:1", [1]), ("/device:CPU:*", [0, 1, 2]), ("/gpu:0", []), (CPU[2], [2])]
)
def test_a_request_allows_devices_in_order(request_: str, found: Any) -> None:
    assert device_set(3).matching(DeviceSpec.parse(request_)) == [CPU[i] for i in found]
