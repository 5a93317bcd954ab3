"""The graph of a session as steps are planned from it: extended all or none, placed, cut."""

from __future__ import annotations

import logging

import pytest

from actorsession import ConfigProto, GraphOptions
from actorsession.config import Experimental
from actorsession.errors import CancelledError, FailedPreconditionError, InvalidArgumentError
from actorsession.extend import RunSignature
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.place import Placed
from tests.plan.kit import CPU, device_set, node

PRUNED = ConfigProto(graph_options=GraphOptions(place_pruned_graph=True))
WHOLE = ConfigProto()
BOTH = pytest.mark.parametrize("config", [WHOLE, PRUNED], ids=["whole", "pruned"])
CHAIN = [node("x", op="Placeholder"), node("a", "x"), node("b", "a", device="/cpu:1")]
RUN = RunSignature(feeds=("x:0",), fetches=("b:0",))


def state(config: ConfigProto = WHOLE, devices: int = 2) -> GraphExecutionState:
    return GraphExecutionState(config, device_set(devices), lambda: None)


@BOTH
def test_the_partitions_of_a_run_are_what_it_needs_on_each_device(config: ConfigProto) -> None:
    made = state(config)
    made.extend([*CHAIN, node("not needed", "b")])
    graph, parts = made.partitions(RUN, optimised=False)
    assert "not needed" not in graph.nodes
    assert sorted(part.device for part in parts) == CPU[:2]
    assert {n: made.placed[n].device for n in "ab"} == {"a": CPU[0], "b": CPU[1]}


def test_nodes_are_added_all_or_none() -> None:
    made = state()
    made.extend(CHAIN)
    for wrong in (node("y", "missing"), node("y", device="/cpu:7")):
        with pytest.raises(InvalidArgumentError):
            made.extend([node("fine"), wrong])
    assert (len(made), list(made.placed)) == (3, ["x", "a", "b"])
    made.extend([node("fine")])
    assert len(made) == 4


def test_with_pruned_placement_a_node_is_placed_when_a_run_needs_it() -> None:
    made = state(PRUNED)
    made.extend([*CHAIN, node("nowhere", device="/cpu:7")])
    assert dict(made.placed) == {}
    made.partitions(RUN)
    with pytest.raises(InvalidArgumentError, match="CPU:7"):
        made.partitions(RunSignature(fetches=(), targets=("nowhere",)))
    assert sorted(made.placed) == ["a", "b"]


@BOTH
def test_nodes_keep_their_devices_when_others_join_and_fail_when_theirs_are_gone(config: ConfigProto) -> None:
    made = state(config)
    made.extend([node("v", op="VarHandleOp", device="/cpu:1")])
    run = RunSignature(fetches=(), targets=("v",))
    made.partitions(run)
    made.use_devices(device_set(3))
    _, parts = made.partitions(run)
    assert [part.device for part in parts] == [CPU[1]]
    made.use_devices(device_set(1))
    with pytest.raises(InvalidArgumentError, match=r"'v' is on .*CPU:1, which has left the cluster"):
        made.partitions(run)


def test_a_node_that_was_placed_anew_goes_back_when_another_is_colocated_with_it() -> None:
    made = state()
    made.extend(CHAIN)
    made.place_anew({"a": Placed(CPU[1], "measured")})
    _, parts = made.partitions(RUN)
    assert [part.device for part in parts] == [CPU[1]]
    made.extend([node("tied", _class=["loc:@a"])])
    assert made.placed["a"].device == CPU[0]


def test_a_partial_run_without_a_feed_that_it_needs_has_a_failure_and_no_partitions() -> None:
    made = state()
    made.extend([*CHAIN, node("y", op="Placeholder"), node("c", "y")])
    made_partial = made.partial_partitions(RunSignature(("x:0",), ("b:0", "c:0")))
    assert made_partial.parts == ()
    assert made_partial.failure is not None
    assert made_partial.failure.node == "y"
    made_partial = made.partial_partitions(RunSignature(("x:0", "y:0"), ("b:0", "c:0")))
    assert (len(made_partial.parts), made_partial.failure) == (2, None)
    with pytest.raises(InvalidArgumentError, match="missing"):
        made.partial_partitions(RunSignature(("x:0",), ("missing:0",)))


def test_planning_ends_where_its_check_raises() -> None:
    raised: list[Exception] = []

    def check() -> None:
        if raised:
            raise raised[0]

    made = GraphExecutionState(WHOLE, device_set(2), check)
    made.extend(CHAIN)
    raised.append(CancelledError("the session is closed"))
    with pytest.raises(CancelledError, match="closed"):
        made.partitions(RUN)
    with pytest.raises(CancelledError, match="closed"):
        made.extend([node("more")])
    assert len(made) == 3


@BOTH
def test_placement_is_logged_where_settings_ask_for_it(config: ConfigProto, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "actorsession.session")
    made = state(ConfigProto(log_device_placement=True, graph_options=config.graph_options))
    made.extend(CHAIN)
    made.partitions(RUN)
    assert f"b: (Identity): {CPU[1]}" in caplog.text


def test_a_static_graph_is_taken_in_once_and_does_not_grow() -> None:
    """It may be empty before; what fails to be taken in is not there yet."""
    made = state(ConfigProto(experimental=Experimental(optimize_for_static_graph=True)))
    made.extend([])
    with pytest.raises(InvalidArgumentError):
        made.extend([node("y", "missing")])
    made.extend(CHAIN)
    grown = [node(name) for name in "cdef"]
    with pytest.raises(FailedPreconditionError, match=r"'c', 'd', 'e' and 1 more, .*static_graph=True"):
        made.extend(grown)
    made.extend([])
    assert len(made) == 3
    assert made.partitions(RUN)
