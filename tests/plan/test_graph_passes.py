"""Graph passes: groups, phases, who ran, and what is refused of what they make."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, NodeDef
from actorsession.errors import InvalidArgumentError
from actorsession.extend import PassGroup, PlacedGraph
from actorsession.extend import register_graph_pass as register_pass
from actorsession.extend import registered_graph_passes as registered_passes
from actorsession.extend import unregister_graph_pass as unregister_pass
from actorsession.plan.passes import registry as passes
from tests.cluster.kit import in_process, soon
from tests.runtime.toy import write_distribution

pytestmark = pytest.mark.usefixtures("graph")

Registered = Callable[..., Any]


@pytest.fixture
def add() -> Iterator[Registered]:
    """Registers a pass for the length of the test."""
    names: list[str] = []

    def registered(group: str, function: Any, phase: int = 10, name: str = "mine") -> None:
        register_pass(group, phase, name)(function)
        names.append(name)

    yield registered
    for name in names:
        unregister_pass(name)


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session(graph=acts.get_default_graph()) as session:
        return session.run(fetches, feeds)


def doubled() -> Any:
    x = acts.placeholder(acts.float32, [], name="x")
    return x, acts.add(x, x, name="sum")


def changed(graph: PlacedGraph, name: str, **changes: Any) -> PlacedGraph:
    """The graph with another node in the place of one."""
    nodes = {**graph.graph.nodes, name: replace(graph.graph.nodes[name], **changes)}
    return PlacedGraph(replace(graph.graph, nodes=nodes), graph.device_of)


# -- that they run -------------------------------------------------------------------------------


def test_the_librarys_own_optimiser_is_a_pass() -> None:
    assert {made.name: made for made in registered_passes()}["optimise"].group is PassGroup.POST_REWRITE_FOR_EXEC
    acts.add(acts.constant(1.0), acts.constant(2.0), name="three")
    with acts.Session() as session:
        assert session.run("three:0") == 3.0
        counts = {made.name: made for made in session.statistics().graph_passes}
    assert (counts["optimise"].runs, counts["optimise"].changes) == (1, 1)
    assert (counts["functionalize"].runs, counts["functionalize"].changes) == (1, 0)


def test_a_pass_changes_what_runs_and_is_counted(add: Registered, caplog: Any) -> None:
    x, total = doubled()
    add("POST_PLACEMENT", lambda graph, context: changed(graph, "sum", op="Mul"))
    with caplog.at_level(logging.DEBUG, "actorsession.plan.passes.registry"), acts.Session() as session:
        assert session.run(total, {x: 5.0}) == 25.0
        session.run(total, {x: 6.0})  # the same plan
        counted = {made.name: made for made in session.statistics().graph_passes}
    assert (counted["mine"].runs, counted["mine"].changes) == (1, 1)
    assert counted["mine"].group == "POST_PLACEMENT"
    assert "graph pass 'mine' (POST_PLACEMENT, phase 10): changed" in caplog.text


def test_groups_run_in_order_and_phases_within_them(add: Registered) -> None:
    ran: list[str] = []

    def noting(name: str) -> Any:
        def note(given: Any, context: Any) -> Any:
            ran.append(name)
            return given

        return note

    for group, phase, name in (
        ("POST_PARTITIONING", 1, "last"),
        ("POST_REWRITE_FOR_EXEC", -1, "before optimise"),
        ("PRE_PLACEMENT", 20, "at 20"),
        ("POST_PLACEMENT", 1, "b"),
        ("POST_PLACEMENT", 1, "a"),
        ("PRE_PLACEMENT", 3, "at 3"),
    ):
        add(group, noting(name), phase, name)
    x, total = doubled()
    run(total, {x: 1.0})
    assert ran == ["at 3", "at 20", "a", "b", "before optimise", "last"]


def test_sessions_take_the_passes_of_when_they_are_made(add: Registered) -> None:
    x, total = doubled()
    with acts.Session() as session:
        add("POST_PLACEMENT", lambda graph, context: changed(graph, "sum", op="Mul"))
        assert session.run(total, {x: 5.0}) == 10.0
    assert run(total, {x: 5.0}) == 25.0


def test_a_pass_before_placement_moves_and_adds_nodes(add: Registered) -> None:
    def instead(nodes: Any, context: Any) -> Any:
        if "sum" not in nodes:
            return nodes
        made = replace(nodes["sum"], op="Mul", name="product", device="")
        moved = NodeDef(
            name="sum", op="Identity", inputs=(("product", 0),), outputs=made.outputs, device="/device:CPU:1"
        )
        return {**nodes, "product": made, "sum": moved}

    add("PRE_PLACEMENT", instead)
    x, total = doubled()
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(total, {x: 5.0}) == 25.0
        assert session.placement()["sum"].device.endswith("CPU:1")
        more = acts.add(total, 1.0)  # the graph still grows by what was built
        assert session.run(more, {x: 5.0}) == 26.0


def test_a_pass_after_partitioning_sees_sends_and_receives(add: Registered) -> None:
    seen: list[str] = []

    def look(parts: Any, context: Any) -> Any:
        seen.extend(node.op for part in parts for node in part.nodes)
        return tuple(replace(part, nodes=part.nodes[::-1]) for part in parts)

    add("POST_PARTITIONING", look)
    x = acts.placeholder(acts.float32, [], name="x")
    with acts.device("/cpu:1"):
        y = x * 2.0
    with acts.device("/cpu:0"):
        z = y + x
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(z, {x: 3.0}) == 9.0  # put in order again
    assert {"_Send", "_Recv"} <= set(seen)


def test_a_session_that_debugs_runs_no_rewrites_for_execution(add: Registered) -> None:
    ran: list[str] = []
    add("POST_REWRITE_FOR_EXEC", lambda graph, context: ran.append("no") or graph)  # type: ignore[func-returns-value]
    x, total = doubled()
    with acts.Session() as session:
        assert session.partial_run(session.partial_run_setup([total], [x]), total, {x: 1.0}) == 2.0
    assert ran == []


async def test_masters_run_passes_too(add: Registered) -> None:
    add("POST_PLACEMENT", lambda graph, context: changed(graph, "sum", op="Mul"))
    x, total = doubled()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph=acts.get_default_graph()) as session:
        assert await soon(session.run(total, {x: 5.0})) == 25.0


# -- what they see -------------------------------------------------------------------------------


def keep_contexts(add: Registered) -> dict[str, acts.plugins.PassContext]:
    """Registers a pass per group that keeps the context that it saw last."""
    seen: dict[str, acts.plugins.PassContext] = {}

    def keeping(group: str) -> Any:
        def keep(given: Any, context: acts.plugins.PassContext) -> Any:
            seen[group] = context
            return given

        return keep

    for group in PassGroup:
        add(group.value, keeping(group.value), name=group.value)
    return seen


def test_passes_see_handle_options_and_devices_of_their_session(add: Registered) -> None:
    seen = keep_contexts(add)
    x, total = doubled()
    handles = set()
    for count in (1, 2):
        config = acts.ConfigProto(device_count={"CPU": count})
        with acts.Session(config=config) as session:
            session.run(total, {x: 1.0})
        assert set(seen) == {group.value for group in PassGroup}
        for context in seen.values():
            assert context.session_options == acts.plugins.SessionOptions("", config)
            assert len(context.devices.devices) == count
        (handle,) = {context.session_handle for context in seen.values()}
        handles.add(handle)
    assert len(handles) == 2
    assert all(handle.startswith("direct") for handle in handles)


async def test_at_a_master_they_see_what_the_client_asked_for(add: Registered) -> None:
    seen = keep_contexts(add)
    config = acts.ConfigProto(operation_timeout_in_ms=50_000, device_filters=["/job:worker"])
    merged = replace(config, inter_op_parallelism_threads=8)  # as the server has it
    x, total = doubled()
    async with in_process() as cluster:
        async with AsyncSession(cluster.target(), graph=acts.get_default_graph(), config=config) as session:
            assert await soon(session.run(total, {x: 1.0})) == 2.0
        assert set(seen) == {group.value for group in PassGroup}
        for context in seen.values():
            assert context.session_options == acts.plugins.SessionOptions(cluster.target(), merged)
            assert len(context.devices.devices) == 2
    (handle,) = {context.session_handle for context in seen.values()}
    assert handle


@pytest.mark.parametrize("over", ["this process", "a master"])
async def test_passes_see_the_functions_of_the_graph_by_name(over: str, add: Registered) -> None:
    """Before placement those of the nodes that are added, too; those inside others as well."""
    seen: dict[str, list[str]] = {group.value: [] for group in PassGroup}

    def noting(group: str) -> Any:
        def note(given: Any, context: acts.plugins.PassContext) -> Any:
            seen[group] = sorted(context.function_library)
            assert all(found.nodes for found in context.function_library.values())
            return given

        return note

    for group in PassGroup:
        add(group.value, noting(group.value), name=group.value)

    @acts.flow.Defun(acts.float32)
    def half(x: Any) -> Any:
        return x * 0.5

    @acts.flow.Defun(acts.float32)
    def quarter(x: Any) -> Any:
        return half(half(x))

    x = acts.placeholder(acts.float32, [])
    y = quarter(x)
    async with contextlib.AsyncExitStack() as stack:
        target = ""
        if over == "a master":
            target = (await stack.enter_async_context(in_process())).target()
        session = AsyncSession(target, graph=acts.get_default_graph())
        await stack.enter_async_context(session)
        assert await soon(session.run(y, {x: 8.0})) == 2.0
        assert seen == {group.value: ["half", "quarter"] for group in PassGroup}
        assert await soon(session.run(acts.cond(x > 0.0, lambda: thrice(x), lambda: x), {x: 1.0})) == 3.0
        assert seen == {group.value: ["half", "quarter", "thrice"] for group in PassGroup}


@acts.flow.Defun(acts.float32)
def thrice(x: Any) -> Any:
    return x * 3.0


def test_names_are_unique_and_groups_must_exist(add: Registered) -> None:
    add("POST_PLACEMENT", lambda graph, context: graph)
    with pytest.raises(KeyError, match="'mine' is already registered"):
        add("POST_PLACEMENT", lambda graph, context: graph)
    with pytest.raises(ValueError, match="SOME_DAY"):
        register_pass("SOME_DAY", 1, "other")
    with pytest.raises(KeyError):
        unregister_pass("nobody")


BROUGHT = """
from actorsession.extend import GraphPass, PassGroup

good = GraphPass("brought", PassGroup.POST_PLACEMENT, 1, lambda graph, context: graph)
again = GraphPass("optimise", PassGroup.POST_PLACEMENT, 1, lambda graph, context: graph)
bad = 3
"""


def test_other_distributions_bring_passes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [f"{name} = toy_passes:{name}" for name in ("good", "again", "bad")]
    write_distribution(tmp_path, "toy_passes", BROUGHT, entries, group=passes.ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert "brought" in [made.name for made in registered_passes()]
            assert len(registered_passes()) == len({made.name for made in registered_passes()})
        assert [str(warning.message) for warning in told] == [
            f"plug-in {entry} of toy_passes 1.0 (group actorsession.graph_passes) cannot be used: {why}"
            for entry, why in [
                (entries[1], "KeyError: a graph pass named 'optimise' is already registered"),
                (entries[2], "TypeError: an entry point of actorsession.graph_passes is a GraphPass, got 3"),
            ]
        ]
    finally:
        unregister_pass("brought")
        del sys.modules["toy_passes"]


# -- what is refused -----------------------------------------------------------------------------


def without(graph: PlacedGraph, name: str) -> PlacedGraph:
    nodes = {key: node for key, node in graph.graph.nodes.items() if key != name}
    return PlacedGraph(replace(graph.graph, nodes=nodes), graph.device_of)


def fetches_changed(graph: PlacedGraph) -> PlacedGraph:
    return PlacedGraph(replace(graph.graph, fetches=(("half", 0),)), graph.device_of)


def nowhere(graph: PlacedGraph) -> PlacedGraph:
    return PlacedGraph(replace(graph.graph), {**graph.device_of, "sum": "/device:TPU:7"})


BROKEN: dict[str, tuple[Any, str]] = {
    "missing": (lambda g: without(g, "half"), "reads 'half:0', which does not exist"),
    "fetch": (lambda g: without(g, "sum"), "the fetch 'sum:0' was removed"),
    "fetches": (fetches_changed, "the fetches are"),
    "cycle": (lambda g: changed(g, "half", inputs=(("sum", 0), ("sum", 0))), "has a cycle through"),
    "type": (lambda g: changed(g, "half", op="Spam"), "which is not registered here"),
    "sense": (lambda g: changed(g, "half", op="LogicalAnd"), r"\(LogicalAnd\) is invalid"),
    "dtype": (lambda g: changed(g, "half", op="Less"), "shape function returns .'bool'"),
    "control": (lambda g: changed(g, "half", control_inputs=("no",)), "runs after 'no'"),
    "device": (nowhere, "is not a device of the session"),
    "nothing": (lambda g: None, "must return a PlacedGraph"),
    "graph": (lambda g: PlacedGraph(None, {}), "must return a StepGraph"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_pass_that_breaks_the_graph_is_refused_with_its_name(kind: str, add: Registered) -> None:
    spoil, words = BROKEN[kind]
    add("POST_PLACEMENT", lambda graph, context: spoil(graph))
    x = acts.placeholder(acts.float32, [], name="x")
    total = acts.add(acts.multiply(x, 0.5, name="half"), x, name="sum")
    with acts.Session() as session, pytest.raises(InvalidArgumentError) as caught:
        session.run(total, {x: 1.0})
    assert "graph pass 'mine' (POST_PLACEMENT, phase 10)" in str(caught.value)
    assert caught.match(words)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda nodes: {k: n for k, n in nodes.items() if k != "sum"}, "'sum' was removed"),
        (lambda nodes: {**nodes, "other": nodes["sum"]}, "for the name 'other'"),
        (lambda nodes: {**nodes, "sum": replace(nodes["sum"], outputs=())}, "no longer of dtype float32"),
        (lambda nodes: list(nodes), "must return nodes by name"),
    ],
    ids=["gone", "name", "outputs", "list"],
)
def test_a_pass_before_placement_must_keep_what_others_rely_on(spoil: Any, words: str, add: Registered) -> None:
    add("PRE_PLACEMENT", lambda nodes, context: spoil(nodes))
    x, total = doubled()
    with acts.Session() as session, pytest.raises(InvalidArgumentError, match=f"graph pass 'mine' .*{words}"):
        session.run(total, {x: 1.0})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda parts: (), "partitions are on"),
        (lambda parts: None, "must return partitions"),
        (lambda parts: [replace(parts[0], fetches=())], "the fetches on"),
        (lambda parts: [replace(parts[0], nodes=parts[0].nodes[:1])], "was removed"),
        (lambda parts: [replace(parts[0], nodes=parts[0].nodes[1:])], "the feeds, sends or receives of"),
    ],
    ids=["none", "nothing", "fetches", "node", "feed"],
)
def test_a_pass_after_partitioning_must_keep_what_comes_and_goes(spoil: Any, words: str, add: Registered) -> None:
    add("POST_PARTITIONING", lambda parts, context: spoil(parts))
    x, total = doubled()
    with acts.Session() as session, pytest.raises(InvalidArgumentError, match=f"graph pass 'mine' .*{words}"):
        session.run(total, {x: 1.0})


def test_what_a_pass_raises_says_which_it_was(add: Registered) -> None:
    def fail(graph: Any, context: Any) -> Any:
        raise ZeroDivisionError("one of those days")

    add("POST_PLACEMENT", fail)
    x, total = doubled()
    with acts.Session() as session, pytest.raises(ZeroDivisionError) as caught:
        session.run(total, {x: 1.0})
    assert caught.value.__notes__ == ["in graph pass 'mine' (POST_PLACEMENT, phase 10)"]
