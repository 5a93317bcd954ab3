"""Where each node goes, and why; and where those go that one run needs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from actorsession import DeviceSpec, NodeDef, TensorShape
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceAttributes, DeviceSet, TensorSpec
from actorsession.graph import dtypes
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.node import spec
from actorsession.graph.op_signatures import Signature, opsets, signature_of
from actorsession.graph.registry import lookup
from actorsession.plan.place import Placer
from actorsession.plan.pruned_placement import PrunedPlacement
from actorsession.plan.references import HANDLE_OF, PASSES
from actorsession.runtime.devices import make_devices
from tests.plan.kit import CPU, device_set, node
from tests.rows import for_each, refusing

HANDLE = spec("resource", ())


def placer(count: int = 3, *, soft: bool = False) -> Placer:
    return Placer(device_set(count), allow_soft_placement=soft)


def handle(name: str, device: str = "") -> NodeDef:
    return node(name, op="VarHandleOp", device=device, outputs=(HANDLE,))


def on(number: int, name: str = "a") -> NodeDef:
    """A node that reads the constant and asks for a processor."""
    return node(name, "k", device=f"/cpu:{number}")


def read(device: str = "", name: str = "read") -> NodeDef:
    return node(name, "v", op="ReadVariableOp", device=device)


def tied(name: str, *groups: str, device: str = "") -> NodeDef:
    return node(name, "k", device=device, _class=[f"loc:@{g}" for g in groups])


K = node("k", op="Const", value=1.0)
V = handle("v", "/cpu:1")


def check(batches: list[list[NodeDef]], devices: dict[str, int], reason: str = "", *, soft: bool = False) -> None:
    """Place nodes batch by batch, and compare the number of each one's processor, and why the last is there."""
    made = placer(soft=soft)
    for batch in batches:
        made.place(batch)
    assert {name: CPU.index(where.device) for name, where in made.placed.items()} == devices
    assert reason in (made.placed[batches[-1][-1].name].reason, "")


def the_signature(op_type: str) -> Signature:
    found = signature_of(op_type)
    assert found is not None
    return found


# -- requests --------------------------------------------------------------------------------------


@for_each(
    "last, device, reason",
    [
        (on(2), 2, "requested /device:CPU:2"),
        (node("a", "k"), 0, "no device requested: the client device"),
        *(
            (node("a", "k", device=request), 0, "")
            for request in ["/job:localhost", "/device:CPU:*", "/task:0", "/replica:0"]
        ),
    ],
)
def test_a_node_goes_where_it_asks_to_be_and_else_to_the_client_device(last: NodeDef, device: int, reason: str) -> None:
    check([[K, last]], {"k": device, "a": device}, reason)


def test_the_client_device_need_not_be_the_first() -> None:
    devices = DeviceSet(device_set(3).devices, client_device=CPU[1])
    placed = Placer(devices).place([node("a"), node("b", device="/job:localhost")])
    assert {w.device for w in placed.values()} == {CPU[1]}


def test_an_open_request_elsewhere_takes_the_first_device_there() -> None:
    names = [f"/job:worker/replica:0/task:{t}/device:CPU:{i}" for t in (0, 1) for i in (0, 1)]
    devices = [DeviceAttributes(name=n, device_type="CPU", incarnation=1) for n in names]
    assert Placer(DeviceSet(devices)).place([node("a", device="/task:1")])["a"].device == names[2]


@for_each("request_", ["/cpu:7", "/gpu:0", "/job:ps", "/task:3"])
def test_a_device_that_does_not_exist_is_named_with_those_that_do(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="which does not exist here; the devices are") as e:
        placer().place([node("a", device=request_)])
    assert str(DeviceSpec.parse(request_)) in e.value.message
    assert all(name in e.value.message for name in CPU[:3])
    assert (e.value.node, e.value.source) == ("a", "a.py:1")


@for_each("request_", ["/cpu:7", "/gpu:0", "/job:localhost/task:0/gpu:1"])
def test_soft_placement_gives_up_type_and_number(request_: str) -> None:
    placed = placer(soft=True).place([node("a", device=request_)])
    assert placed["a"].device == CPU[0]
    assert placed["a"].reason.endswith("which does not exist; soft placement")
    check([[K, on(2)]], {"k": 2, "a": 2}, "requested /device:CPU:2", soft=True)


@for_each("request_", ["/job:ps/cpu:0", "/task:3/cpu:0"])
def test_soft_placement_never_changes_job_or_task(request_: str) -> None:
    with pytest.raises(InvalidArgumentError, match="does not exist here"):
        placer(soft=True).place([node("a", device=request_)])


@for_each(
    "nodes, devices",
    [
        # Consumers on one device count as one.
        ([K, on(2), on(2, "b")], {"k": 2, "a": 2, "b": 2}),
        # With consumers on two devices it stays with the client.
        ([K, on(2), on(1, "b")], {"k": 0, "a": 2, "b": 1}),
        # One that asked, or reads something, stays where it is.
        (
            [
                node("asked", op="Const", device="/cpu:1", value=1.0),
                node("reads", "asked"),
                node("a", "asked", "reads", op="AddV2", device="/cpu:2"),
            ],
            {"asked": 1, "reads": 0, "a": 2},
        ),
        # Control edges move no source.
        ([K, node("a", after=["k"], device="/cpu:2")], {"k": 0, "a": 2}),
    ],
)
def test_a_source_goes_where_its_only_consumer_is(nodes: list[NodeDef], devices: dict[str, int]) -> None:
    check([nodes], devices)
    assert placer().place([K, on(2)])["k"].reason == "no device requested: placed with its consumer"


@for_each("op", ["Shape", "Size", "Rank"])
def test_what_reads_no_data_of_its_input_stays_with_it(op: str) -> None:
    """Anywhere else, the whole input would travel for a few integers."""
    size, further = node("s", "a", op=op), [node("next", "s")]
    why = "reads only static properties of 'a': placed with it"
    check([[K, on(2), size]], {"k": 2, "a": 2, "s": 2}, why)
    check([[K, on(2)], [*further, size]], {"k": 2, "a": 2, "s": 2, "next": 0}, why)
    asks, open_ = node("s", "a", op=op, device="/cpu:1"), node("open", "a", op=op, device="/job:localhost")
    check([[K, on(2), asks, open_]], {"k": 2, "a": 2, "s": 1, "open": 2})


# -- groups ----------------------------------------------------------------------------------------


@for_each(
    "nodes, devices, reason",
    [
        ([on(1), tied("b", "a"), tied("c", "b")], {"a": 1, "b": 1, "c": 1}, "colocated with 'a'"),
        # Any member may ask, also one that is named beforehand.
        ([tied("a", "c"), tied("b", "c"), on(2, "c")], {"a": 2, "b": 2, "c": 2}, "requested /device:CPU:2"),
        ([tied("a"), tied("b", "a")], {"a": 0, "b": 0}, "colocated with 'a'"),
        # Its own name ties a node to nobody.
        ([tied("a", "a", device="/cpu:1"), tied("b", "b")], {"a": 1, "b": 0}, "no device requested: the client device"),
        # Requests are merged part by part.
        ([tied("a", "a", device="/job:localhost"), tied("b", "a", device="/cpu:1")], {"a": 1, "b": 1}, ""),
    ],
)
def test_colocated_nodes_share_a_device(nodes: list[NodeDef], devices: dict[str, int], reason: str) -> None:
    check([[K, *nodes, on(0, "other"), on(1, "another")]], {"k": 0, **devices, "other": 0, "another": 1})
    check([[K, on(0, "other"), on(1, "another"), *nodes]], {"k": 0, **devices, "other": 0, "another": 1}, reason)


CONTRARY = [K, on(1), tied("b", "a", device="/cpu:2")]


@for_each(
    "nodes, match, name",
    [
        ([node("a", device="junk")], "malformed device name 'junk'", "a"),
        (CONTRARY, r"'a' \(built at a.py:1\) for /device:CPU:1, 'b' for /device:CPU:2", "b"),
        ([K, tied("a", "nope")], "'loc:@nope' of 'a' does not name a node", "a"),
        ([V, K, tied("a", "v", device="/cpu:2")], "request different ones", "a"),
        ([V, handle("w", "/cpu:2"), node("both", "v", "w", op="AddN")], "request different ones: 'v'", "w"),
    ],
)
def test_requests_that_cannot_be_met_are_refused_with_their_line(nodes: list[NodeDef], match: str, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=match) as caught:
        placer().place(nodes)
    assert (caught.value.node, caught.value.source) == (name, f"{name}.py:1")


def test_with_soft_placement_the_later_request_is_dropped() -> None:
    check([CONTRARY], {"k": 1, "a": 1, "b": 1}, "requested /device:CPU:2, but is colocated with 'a'", soft=True)


# -- resources -------------------------------------------------------------------------------------


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
        assert placer().place([v, K, node("a", *arguments, op=op_type, device=request)])["a"].device == CPU[1]


def test_a_read_of_a_reference_goes_to_its_variable_if_it_asks_for_nothing() -> None:
    v, change = node("v", op="VariableV2", device="/cpu:1"), node("change", "v", "k", op="Assign")
    reads = [node("again", "change"), node("asks", "v", device="/cpu:2"), node("read", "v")]
    devices = {"v": 1, "k": 1, "change": 1, "again": 1, "asks": 2, "read": 1}
    check([[v, K, change, *reads]], devices, "reads the variable of 'v': placed with it")
    check([[v, K, change, *reads, node("uses", "read", op="Neg")]], devices | {"uses": 0})


@for_each("soft", [False, True])
def test_what_uses_a_resource_goes_there_whatever_it_asks_for(soft: bool) -> None:
    """As in TensorFlow, with soft placement and without."""
    check([[V, read()]], {"v": 1, "read": 1}, "colocated with 'v'", soft=soft)
    check([[V, read("/cpu:2")]], {"v": 1, "read": 1}, "requested /device:CPU:2, but is colocated with 'v'", soft=soft)
    late = "requested /device:CPU:2, but is colocated with 'v'"
    check([[V], [read("/cpu:2")]], {"v": 1, "read": 1}, late, soft=soft)
    check(
        [[V], [read("/cpu:2", "first"), read(name="two")]],
        {"v": 1, "first": 1, "two": 1},
        "colocated with 'v'",
        soft=soft,
    )
    # The wish of what makes a resource counts also where its reader stands first, as it may in an imported graph.
    check([[read("/cpu:2"), V]], {"read": 1, "v": 1}, soft=soft)
    # One that asks for nothing goes where its first user asks.
    check([[handle("v"), read("/cpu:2"), read("/cpu:1", "two")]], {"v": 2, "read": 2, "two": 2}, soft=soft)


def test_what_is_beside_a_user_of_a_resource_and_took_its_wish_over_follows_it() -> None:
    """As gradients that stand beside a loop do, which reads a variable of another device."""
    nodes, after = [V, read("/cpu:2", "loop")], [K, tied("zeros", "loop", device="/cpu:2")]
    devices = {"v": 1, "loop": 1, "k": 1, "zeros": 1}
    check([[*nodes, *after]], devices)
    check([nodes, after, [tied("more", "v", device="/cpu:2")]], {**devices, "k": 1, "more": 1})
    with pytest.raises(InvalidArgumentError, match="colocated with 'loop'"):
        check([nodes, [K, tied("other", "loop", device="/cpu:0")]], {})


def test_only_the_edge_that_carries_the_resource_ties() -> None:
    both = node("v", op="VarHandleOp", device="/cpu:1", outputs=(HANDLE, spec("float32", ())))
    nodes = [read(), node("elsewhere", "v:1")]
    for batches in ([[both, *nodes]], [[both], nodes]):
        check(batches, {"v": 1, "read": 1, "elsewhere": 0})


def test_two_resources_that_one_node_uses_share_a_device() -> None:
    check([[V, handle("w"), node("both", "v", "w", op="AddN")]], {"v": 1, "w": 1, "both": 1})


# -- a graph that grows ----------------------------------------------------------------------------


@for_each(
    "first, then, devices",
    [
        # Although its only consumer is elsewhere.
        ([K], [K, on(2)], {"k": 0, "a": 2}),
        ([V, K, on(2)], [read(), tied("b", "a")], {"v": 1, "k": 2, "a": 2, "read": 1, "b": 2}),
    ],
)
def test_placed_nodes_keep_their_device(first: list[NodeDef], then: list[NodeDef], devices: dict[str, int]) -> None:
    check([first, then], devices)
    made = placer()
    made.place(first)
    assert made.place(then).keys() == {n.name for n in then} - {n.name for n in first}, "the new ones alone"


def test_a_new_node_that_contradicts_an_old_one_is_refused() -> None:
    made = placer()
    made.place(CONTRARY[:2])
    with pytest.raises(InvalidArgumentError, match=r"'b' requests /device:CPU:2 but must be colocated with"):
        made.place(CONTRARY[2:])
    assert "b" not in made.placed
    check(
        [CONTRARY[:2], CONTRARY[2:]],
        {"k": 1, "a": 1, "b": 1},
        "requested /device:CPU:2, but is colocated with 'a'",
        soft=True,
    )
    check(
        [[tied("b", "b", device="/cpu:9")]],
        {"b": 0},
        "requested /device:CPU:9, which does not exist; soft placement",
        soft=True,
    )
    for soft in (False, True):
        with pytest.raises(InvalidArgumentError, match=r"'c' must be colocated with '.' .*, and also be on"):
            check([[K, on(1), on(2, "b")], [tied("c", "a", "b")]], {}, soft=soft)


def test_a_failure_leaves_everything_as_it_was() -> None:
    made = placer()
    made.place([K])
    before = dict(made.placed)
    with pytest.raises(InvalidArgumentError):
        made.place([V, node("a", device="/gpu:0")])
    assert dict(made.placed) == before
    # The resource of the failed batch is not remembered either.
    assert made.place([read()])["read"].device == CPU[0]


# -- device sets -----------------------------------------------------------------------------------


test_what_is_no_device_set_is_refused = refusing(
    (lambda: DeviceSet([]), InvalidArgumentError, "at least one device"),
    (lambda: DeviceSet(device_set(1).devices, client_device=CPU[1]), InvalidArgumentError, "is not one of"),
)


@for_each("asked, at", [("", [0, 1, 2]), ("/cpu:1", [1]), ("/device:CPU:*", [0, 1, 2]), ("/gpu:0", []), (CPU[2], [2])])
def test_a_request_allows_devices_in_order(asked: str, at: Any) -> None:
    assert device_set(3).matching(DeviceSpec.parse(asked)) == [CPU[i] for i in at]


CPU0, CPU1 = (f"{LOCAL_TASK}/device:CPU:{i}" for i in range(2))


HANDLES = (TensorSpec(dtypes.resource, TensorShape(())),)


VALUE = (TensorSpec(dtypes.float32, TensorShape(())),)


@pytest.fixture
def placement() -> PrunedPlacement:
    devices = make_devices(LOCAL_TASK, {"CPU": 2})
    return PrunedPlacement(DeviceSet([d.attributes for d in devices]), allow_soft_placement=False)


def op(name: str, device: str = "", with_: str = "", reads: str = "") -> NodeDef:
    return NodeDef(
        name=name,
        op="Identity" if reads else "NoOp",
        device=device,
        outputs=VALUE if reads else (),
        inputs=((reads, 0),) if reads else (),
        attrs={"_class": [f"loc:@{with_}"]} if with_ else {},
    )


def variable(name: str = "v", device: str = "") -> NodeDef:
    return NodeDef(name=name, op="VarHandleOp", device=device, outputs=HANDLES)


def test_a_tie_to_a_node_that_the_run_does_not_need_asks_for_nothing(placement: PrunedPlacement) -> None:
    assert placement.place([op("a", with_="not needed")])["a"].device == CPU0
    assert list(placement.placed) == ["a"]


def test_those_who_are_tied_to_the_same_absent_node_still_share_a_device(placement: PrunedPlacement) -> None:
    placed = placement.place([op("a", with_="absent"), op("b", "/cpu:1", with_="absent")])
    assert {p.device for p in placed.values()} == {CPU1}


def test_an_absent_node_is_placed_by_its_own_request_once_it_is_needed(placement: PrunedPlacement) -> None:
    placement.place([op("a", with_="b")])
    placed = placement.place([op("b", "/cpu:1"), op("a", with_="b")])
    assert {p.device for p in placed.values()} == {CPU1}


def test_what_has_state_stays_where_it_was(placement: PrunedPlacement) -> None:
    first, again = placement.place([variable()]), placement.place([variable(), op("r", "/cpu:1", reads="v")])
    assert again["v"] == first["v"]
    assert again["r"].device == CPU0


def test_what_is_tied_to_state_goes_there_even_in_a_run_without_it(placement: PrunedPlacement) -> None:
    placement.place([variable(device="/cpu:1")])
    assert placement.place([op("a", with_="v")])["a"].device == CPU1


def test_a_tie_between_state_in_two_places_is_an_invalid_argument(placement: PrunedPlacement) -> None:
    placement.place([variable("v", "/cpu:0")])
    placement.place([variable("w", "/cpu:1")])
    both = replace(op("a"), attrs={"_class": ["loc:@v", "loc:@w"]})
    with pytest.raises(InvalidArgumentError, match=r"'a' must be colocated with"):
        placement.place([both])


def test_an_error_changes_nothing(placement: PrunedPlacement) -> None:
    placement.place([variable()])
    before = dict(placement.placed)
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        placement.place([variable(), variable("w"), op("bad", "/job:nowhere")])
    assert placement.placed == before
    assert placement.place([variable("w", "/cpu:1")])["w"].device == CPU1
