"""The chain of parts of a step that ended last, from what servers remember of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from actorsession.config import StepRecord
from actorsession.dashboard import critical_parts

A, B, C = (f"/job:w/replica:0/task:{index}/device:CPU:0" for index in range(3))


def key(source: str, target: str, edge: str) -> str:
    return f"{source};{1:016x};{target};{edge};0:0"


def record(parts: list[tuple[Any, ...]], crossings: list[tuple[Any, ...]], took: float = 10.0) -> StepRecord:
    """A step that began at 100: parts as device, begin, end and wait; crossings as source, target, edge and times."""
    transfers = [
        [kind, key(source, target, edge), device, 100.0 + when, 8]
        for source, target, edge, sent, received in crossings
        for kind, device, when in (("send", source, sent), ("recv", target, received))
        if when is not None
    ]
    wire_parts = [[device, 100.0 + began, ended and 100.0 + ended, waited] for device, began, ended, waited in parts]
    return StepRecord.from_wire(
        [1, "s", "/job:w/replica:0/task:0", "run", 100.0, took, "", [], ["y:0"], wire_parts, transfers, 0, ""]
    )


def chain(*args: Any, **plan: Any) -> list[tuple[Any, ...]]:
    """The pieces as kind, where, and the times since the begin."""
    pieces = critical_parts(record(*args), plan)
    return [(p["kind"], p["where"], round(p["began"] - 100.0, 6), round(p["ended"] - 100.0, 6)) for p in pieces]


def test_the_time_of_a_part_that_waited_belongs_to_the_part_that_it_waited_for() -> None:
    parts = [(A, 0.0, 10.0, 8.5), (B, 0.5, 9.0, 0.0)]
    assert chain(parts, [(B, A, "e", 8.0, 9.0)]) == [
        ("queue", "/job:w/replica:0/task:0", 0.0, 0.5),
        ("work", B, 0.5, 8.0),
        ("wire", f"{B} to {A}", 8.0, 9.0),
        ("work", A, 9.0, 10.0),
    ]


def test_a_part_that_did_not_wait_has_worked_from_its_begin() -> None:
    assert chain([(A, 0.0, 10.0, 0.0), (B, 0.0, 2.0, 0.0)], [(B, A, "e", 1.0, 2.0)]) == [("work", A, 0.0, 10.0)]


def test_a_part_that_began_when_its_value_came_has_waited_for_it() -> None:
    parts = [(A, 0.0, 10.0, 9.9), (B, 2.0, 8.0, 0.01)]
    assert chain(parts, [(A, B, "there", 0.1, 1.99), (B, A, "back", 8.0, 10.0)]) == [
        ("work", A, 0.0, 0.1),
        ("wire", f"{A} to {B}", 0.1, 1.99),
        ("work", B, 1.99, 8.0),
        ("wire", f"{B} to {A}", 8.0, 10.0),
        ("work", A, 10.0, 10.0),
    ]


def test_a_node_is_the_reason_of_a_time_that_its_estimate_comes_near_to() -> None:
    def what(seconds: float) -> str:
        nodes = [{"name": f"n{at}", "op": "Add", "line": "f.py:1", "seconds": seconds / (at + 1)} for at in range(6)]
        plan = {"partitions": [{"device": A, "nodes": [node["name"] for node in nodes]}], "nodes": nodes}
        (piece,) = critical_parts(record([(A, 0.0, 10.0, 0.0)], []), plan)
        return str(piece["what"])

    assert what(4.0) == "n0 (Add) [f.py:1], the dearest of 6 nodes"
    assert what(1e-6) == "n0, n1, n2, n3 and 2 more"


def test_only_nodes_that_can_have_run_in_a_time_explain_it() -> None:
    """A computes h and sends it; B, which has sent e before, computes t of it and sends that back for s."""
    reads = {"h": [], "late": ["e:0"], "t": ["h:0"], "u": ["t:0"], "s": ["u:0"], "e": []}
    takes = {"h": 1.0, "t": 1.0, "u": 0.5, "s": 9.0, "e": 0.1}
    nodes = [
        {"name": name, "op": "Op", "line": "f.py", "seconds": takes.get(name, 0.0), "inputs": read, "outputs": [{}]}
        for name, read in reads.items()
    ]
    partitions = [{"device": A, "nodes": ["h", "late", "u", "s"]}, {"device": B, "nodes": ["e", "t"]}]
    parts = [(A, 0.0, 10.0, 6.0), (B, 0.0, 8.0, 3.0)]
    crossings = [(B, A, "edge_0_e:0", 0.1, 0.5), (A, B, "edge_1_h:0", 2.0, 3.0), (B, A, "edge_2_t:0", 7.0, 8.0)]
    pieces = critical_parts(record(parts, crossings), {"nodes": nodes, "partitions": partitions})
    worked = [piece["what"] for piece in pieces if piece["kind"] == "work"]
    assert worked == [
        "e (Op) [f.py]",
        "h (Op) [f.py], the dearest of 2 nodes",
        "t (Op) [f.py]",
        "s (Op) [f.py], the dearest of 2 nodes",
    ]


def test_a_value_that_goes_to_and_fro_is_followed_back_to_its_begin() -> None:
    parts = [(A, 0.0, 10.0, 6.0), (B, 0.0, 8.0, 3.0)]
    crossings = [(A, B, "out", 2.0, 3.0), (B, A, "back", 7.0, 8.0)]
    assert chain(parts, crossings) == [
        ("work", A, 0.0, 2.0),
        ("wire", f"{A} to {B}", 2.0, 3.0),
        ("work", B, 3.0, 7.0),
        ("wire", f"{B} to {A}", 7.0, 8.0),
        ("work", A, 8.0, 10.0),
    ]


def test_of_values_that_came_together_the_last_one_sent_counts() -> None:
    parts = [(A, 0.0, 10.0, 8.0), (B, 0.0, 5.0, 0.0), (C, 0.0, 7.0, 0.0)]
    pieces = chain(parts, [(B, A, "early", 4.0, 8.0), (C, A, "late", 6.0, 8.0)])
    assert ("wire", f"{C} to {A}", 6.0, 8.0) in pieces


def test_a_partial_run_waits_for_its_client_between_what_that_has_fetched_and_what_it_feeds() -> None:
    """A is fed x, sends h to B, and its client fetches it; B is fed f much later, and then has what is fetched last."""
    parts = [(A, 0.0, 1.1, 0.8), (B, 0.2, 9.0, 8.6)]
    fed = [(A, A, "feed_0_x:0", 0.9, 0.9), (A, B, "feed_1_f:0", None, 8.5)]
    fetched = [(A, A, "fetch_0_h:0", 1.0, 1.0), (B, A, "fetch_1_end:0", 9.0, None)]
    crossings = [(A, B, "edge_0_h:0", 1.0, 1.2), *fed, *fetched]
    pieces = critical_parts(record(parts, crossings), {})
    assert [(p["kind"], p["where"], p["began"] - 100.0, p["what"]) for p in pieces if p["kind"] != "work"] == [
        ("wait", "client", pytest.approx(0.0), "until x:0 is fed"),
        ("wait", "client", pytest.approx(1.0), "until f:0 is fed"),
    ]
    assert [(p["where"], p["ended"] - 100.0) for p in pieces if p["kind"] == "work"][1:] == [
        (A, pytest.approx(1.0)),
        (B, pytest.approx(9.0)),
    ]
    assert all(one["ended"] == other["began"] for one, other in itertools.pairwise(pieces))


def test_the_pieces_are_in_order_although_clocks_differ() -> None:
    pieces = chain([(A, 0.0, 10.0, 8.0), (B, 3.0, 12.0, 0.0)], [(B, A, "e", 11.0, 9.0)])
    assert all(began <= ended for _, _, began, ended in pieces)
    assert all(one[3] == other[2] for one, other in itertools.pairwise(pieces))


def test_a_step_that_runs_or_of_which_nothing_is_known_has_no_chain() -> None:
    assert chain([(A, 0.0, 1.0, 0.0)], [], 0.0) == chain([], []) == []
    assert chain([(A, 0.0, 5.0, 4.0)], [(B, A, "e", None, 4.0)]) == [("work", A, 0.0, 5.0)]


def test_the_node_that_is_expected_to_take_the_longest_is_named() -> None:
    nodes = [{"name": n, "op": "Add", "line": f"f.py:{k}", "seconds": float(k)} for k, n in enumerate("xyz")]
    plan = {"nodes": nodes, "partitions": [{"device": A, "nodes": ["x", "y"]}]}
    (piece,) = critical_parts(record([(A, 0.0, 5.0, 0.0)], []), plan)
    assert piece["what"] == "y (Add) [f.py:1], the dearest of 2 nodes"
