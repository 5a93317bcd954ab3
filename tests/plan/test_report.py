"""What is said of a plan, and how it is found again by its signature."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, GraphDef, ops
from actorsession.config import CostGraphInput, CostGraphOutput, DebugOptions, DebugTensorWatch, StepStats
from actorsession.plan.cost_model import CostModel
from actorsession.plan.plan_cache import CacheStatistics, PlanCache
from actorsession.plan.report import cost_graph, partition_graphs
from actorsession.plan.signature import DebugSignature, RunSignature
from tests.plan.kit import CPU, Made
from tests.plan.test_cost_model import ran


@pytest.fixture
def made() -> Made:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [None], name="x")
        a = ops.tanh(x, name="a")
        with graph.device("/cpu:1"):
            b = ops.multiply(a, ops.constant(np.ones(4, np.float32), name="k"), name="b")
        with graph.control_dependencies([a.op]):
            end = ops.exp(b, name="end")
    return Made(graph, [end], [x], devices=2)


def test_each_node_names_the_device_that_it_is_on(made: Made) -> None:
    graphs = partition_graphs(made.parts, infer_shapes=False)
    assert [{n.device for n in g.nodes} for g in graphs] == [{CPU[0]}, {CPU[1]}]
    assert [[n.name for n in g.nodes] for g in graphs] == [[n.name for n in part.nodes] for part in made.parts]
    assert made.parts[0].nodes[-1].device != CPU[0], "the plan itself stays as it is"


def test_a_feed_that_another_device_reads_is_sent_there_by_the_client_device() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        with graph.device("/cpu:1"):
            end = ops.identity(x, name="end")
    made = Made(graph, [end], [x], devices=2)
    assert [part.device for part in made.parts] == [CPU[1]]
    client, other = partition_graphs(made.parts, infer_shapes=False, client=CPU[0])
    assert [(n.op, n.device) for n in client.nodes] == [("_Arg", CPU[0]), ("_Send", CPU[0])]
    assert [(n.op, n.device) for n in other.nodes] == [("_Recv", CPU[1]), ("Identity", CPU[1])]
    assert client.nodes[1].attrs["key"] == other.nodes[0].attrs["key"]
    assert client.nodes[1].inputs == ((client.nodes[0].name, 0),)
    assert [part.device for part in made.parts] == [CPU[1]], "the plan itself stays as it is"


def test_shapes_are_attached_on_request_and_travel(made: Made) -> None:
    graphs = partition_graphs(made.parts, infer_shapes=True)
    again = [GraphDef.from_bytes(g.to_bytes()) for g in graphs]
    shapes = {n.name: n.attrs["_output_shapes"] for g in again for n in g.nodes}
    assert [s.as_list() for s in shapes["a"]] == [[None]]
    assert [s.as_list() for s in shapes["b"]] == [[4]]


def test_the_cost_graph_lists_each_node_with_its_inputs_by_number(made: Made) -> None:
    nodes = {n.name: n for n in cost_graph(made.parts, CostModel()).node}
    assert sorted(n.id for n in nodes.values()) == list(range(len(nodes)))
    names = {n.id: n.name for n in nodes.values()}
    b = nodes["b"]
    assert b.device == CPU[1]
    assert [names[i.preceding_node] for i in b.input_info] == ["_recv/edge_0_a:0", "k"]
    assert [i.preceding_port for i in b.input_info] == [0, 0]
    assert [names[i] for i in nodes["end"].control_input] == ["a"]
    assert {n.name for n in nodes.values() if n.is_final} == {
        n.name for n in nodes.values() if n.name.startswith("_send/")
    }


def test_the_cost_graph_has_what_was_measured(made: Made) -> None:
    model = CostModel()
    model.record(StepStats(1, [ran("a", 0.001, 16), ran("b", 0.25, 16)]))
    model.record(StepStats(2, [ran("a", 0.002, 16), ran("b", 0.125, 16)]))
    nodes = {n.name: n for n in cost_graph(made.parts, model).node}
    assert (nodes["a"].compute_cost, nodes["b"].compute_cost) == (2000, 250_000), "the most"
    assert nodes["a"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["_recv/edge_0_a:0"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["a"].temporary_memory_size == 16
    assert nodes["a"].compute_time > 0, "the estimate from types alone"
    assert nodes["b"].input_info[0] == CostGraphInput(nodes["_recv/edge_0_a:0"].id, 0)
    # What was not measured has no cost and no size.
    nodes = {n.name: n for n in cost_graph(made.parts, CostModel()).node}
    assert nodes["a"].compute_cost == 0
    assert nodes["a"].output_info == (CostGraphOutput(-1, (None,), "float32"),)
    assert nodes["a"].temporary_memory_size == 0
    assert nodes["k"].output_info == (CostGraphOutput(16, (4,), "float32"),)
    assert nodes["k"].persistent_memory_size == 16


def asks(*fetches: str) -> RunSignature:
    return RunSignature((), fetches, ())


def test_another_order_of_the_same_names_finds_it_by_sorting_once() -> None:
    cache: PlanCache[str] = PlanCache(4)
    assert cache.get(asks("a", "b")) is None
    assert cache.put(asks("a", "b"), "plan") == "plan"
    assert cache.get(asks("a", "b")) == "plan"
    assert cache.statistics() == CacheStatistics(plans=1, hits=1, sorted_hits=0, misses=1, evictions=0)
    cache = PlanCache(4)
    cache.put(asks("b", "a"), "plan")
    for _ in range(3):
        assert cache.get(asks("a", "b")) == "plan"
    assert cache.statistics() == CacheStatistics(plans=1, hits=2, sorted_hits=1, misses=0, evictions=0)


def test_orders_of_feeds_fetches_and_targets_are_all_forgotten() -> None:
    cache: PlanCache[str] = PlanCache(4)
    cache.put(RunSignature(("f", "g"), ("a", "b"), ("t", "u")), "plan")
    assert cache.get(RunSignature(("g", "f"), ("b", "a"), ("u", "t"))) == "plan"
    assert cache.get(RunSignature(("a", "b"), ("f", "g"), ("t", "u"))) is None
    gone: list[str] = []
    cache = PlanCache(4, gone.append)
    cache.put(asks("a", "b"), "plan")
    cache.get(asks("b", "a"))
    cache.discard(asks("b", "a"))
    cache.discard(asks("never"))
    assert cache.get(asks("a", "b")) is None
    assert cache.get(asks("b", "a")) is None
    assert gone == []
    cache = PlanCache(4)
    cache.put(asks("a"), "a")
    cache.put(asks("b"), "b")
    cache.get(asks("a"))
    assert cache.clear() == ["b", "a"], "the least recently used first"
    assert cache.get(asks("a")) is None
    assert cache.clear() == []


def test_of_two_builders_the_first_wins() -> None:
    cache: PlanCache[str] = PlanCache(4)
    assert cache.put(asks("a", "b"), "first") == "first"
    assert cache.put(asks("b", "a"), "second") == "first"
    assert cache.get(asks("a", "b")) == cache.get(asks("b", "a")) == "first"


def test_the_least_recently_used_goes_first_with_all_its_orders() -> None:
    gone: list[str] = []
    cache: PlanCache[str] = PlanCache(2, gone.append)
    cache.put(asks("a", "b"), "ab")
    cache.get(asks("b", "a"))
    cache.put(asks("c"), "c")
    cache.get(asks("b", "a"))
    cache.put(asks("d"), "d")
    assert gone == ["c"]
    cache.put(asks("c"), "c again")
    assert gone == ["c", "ab"]
    for lost in (asks("a", "b"), asks("b", "a")):
        assert cache.get(lost) is None
    assert cache.statistics().evictions == 2
    assert cache.statistics().plans == 2


def test_the_callback_may_use_the_cache() -> None:
    """It runs outside the lock."""
    cache: PlanCache[str] = PlanCache(1, lambda plan: seen.append((plan, cache.get(asks("b")))))
    seen: list[tuple[str, str | None]] = []
    cache.put(asks("a"), "a")
    cache.put(asks("b"), "b")
    assert seen == [("a", "b")]


def test_a_plan_orders_for_in_ever_new_orders_does_not_fill_the_memory() -> None:
    cache: PlanCache[str] = PlanCache(4)
    orders = [asks(*names) for names in itertools.permutations("abcdefg")]
    cache.put(orders[0], "plan")
    assert all(cache.get(order) == "plan" for order in orders)
    assert len(cache._orders) <= 100
    cache.discard(orders[-1])
    assert not cache._orders
    assert all(cache.get(order) is None for order in orders)


@given(st.lists(st.tuples(st.sampled_from(["get", "put", "discard"]), st.integers(0, 5))))
def test_it_behaves_like_a_list_of_the_most_recently_used(calls: list[tuple[str, int]]) -> None:
    cache: PlanCache[int] = PlanCache(3)
    model: list[int] = []
    for call, number in calls:
        forward, backward = asks(f"x{number}", "y"), asks("y", f"x{number}")
        if call == "get":
            assert cache.get(backward) == (number if number in model else None)
            if number in model:
                model = [*(n for n in model if n != number), number]
        elif call == "put":
            assert cache.put(forward, number) == number
            model = [*(n for n in model if n != number), number][-3:]
        else:
            cache.discard(forward)
            model = [n for n in model if n != number]
    assert cache.clear() == model


def test_threads_share_one_cache() -> None:
    gone: list[int] = []
    cache: PlanCache[int] = PlanCache(5, gone.append)
    wrong: list[object] = []
    barrier = threading.Barrier(4)

    def work(start: int) -> None:
        barrier.wait()
        for step in range(500):
            number = (start + step) % 9
            order = (f"x{number}", "y") if step % 2 else ("y", f"x{number}")
            found = cache.get(asks(*order))
            if found is None:
                found = cache.put(asks(*order), number)
            if found != number:
                wrong.append((order, found))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statistics = cache.statistics()
    assert wrong == []
    assert statistics.plans == 5
    assert statistics.evictions == len(gone)
    assert statistics.hits + statistics.sorted_hits + statistics.misses == 2000


names = st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)


@given(names, names, names)
def test_sorting_forgets_the_order(feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]) -> None:
    once = RunSignature(feeds, fetches, targets).sorted()
    assert once == once.sorted()
    assert once == RunSignature(feeds[::-1], fetches[::-1], targets[::-1]).sorted()
    assert (set(once.feeds), set(once.fetches)) == (set(feeds), set(fetches))
    assert list(once.targets) == sorted(targets)


def test_the_three_kinds_of_names_are_not_mixed_up() -> None:
    assert len({RunSignature(("a",), (), ()), RunSignature((), ("a",), ()), RunSignature((), (), ("a",))}) == 3
    assert str(RunSignature(("x:0", "y:0"), ("z:0",), ("init",))) == "x:0,y:0->z:0/init"


def test_a_debugged_run_has_a_signature_of_its_own() -> None:
    """Its partitions differ, and runs that watch alike share them, whatever their limits are."""
    plain = RunSignature(("b", "a"), ("c",))
    watch = DebugTensorWatch(node_name="x")
    ten = DebugOptions(debug_tensor_watch_opts=[watch], global_step=10)
    other = DebugOptions(debug_tensor_watch_opts=[watch], run_byte_usage_limit=5)
    first, second = (
        DebugSignature(plain.feeds, plain.fetches, (), debug_options=options.of_plan) for options in (ten, other)
    )
    assert first == second
    assert plain not in (first, first.sorted())
    assert first.sorted().feeds == ("a", "b")
    assert first.sorted() == second.sorted() == second.sorted().sorted()
    assert first != DebugSignature(plain.feeds, plain.fetches, (), debug_options=DebugOptions(break_on="nan_or_inf"))
