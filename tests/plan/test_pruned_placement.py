"""Placing what one run needs: ties to what it does not need, and state that stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from actorsession import NodeDef, TensorShape
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceSet, TensorSpec
from actorsession.graph import dtypes
from actorsession.graph.device import LOCAL_TASK
from actorsession.plan.pruned_placement import PrunedPlacement
from actorsession.runtime.devices import make_devices

CPU0, CPU1 = (f"{LOCAL_TASK}/device:CPU:{i}" for i in range(2))
HANDLE = (TensorSpec(dtypes.resource, TensorShape(())),)
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
    return NodeDef(name=name, op="VarHandleOp", device=device, outputs=HANDLE)


def test_a_tie_to_a_node_that_the_run_does_not_need_asks_for_nothing(placement: PrunedPlacement) -> None:
    placed = placement.place([op("a", with_="not needed")])
    assert placed["a"].device == CPU0
    assert list(placement.placed) == ["a"]


def test_those_who_are_tied_to_the_same_absent_node_still_share_a_device(placement: PrunedPlacement) -> None:
    placed = placement.place([op("a", with_="absent"), op("b", "/cpu:1", with_="absent")])
    assert {p.device for p in placed.values()} == {CPU1}


def test_an_absent_node_is_placed_by_its_own_request_once_it_is_needed(placement: PrunedPlacement) -> None:
    placement.place([op("a", with_="b")])
    placed = placement.place([op("b", "/cpu:1"), op("a", with_="b")])
    assert {p.device for p in placed.values()} == {CPU1}


def test_what_has_state_stays_where_it_was(placement: PrunedPlacement) -> None:
    first = placement.place([variable()])
    again = placement.place([variable(), op("r", "/cpu:1", reads="v")])
    assert again["v"] == first["v"]
    assert again["r"].device == CPU0
    # What is tied to state goes there even in a run without it.
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
