"""Plans are found by their signatures in any order of the names, and the least recently used makes room."""

from __future__ import annotations

import itertools
import threading

from hypothesis import given
from hypothesis import strategies as st

from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.plan.plan_cache import CacheStatistics, PlanCache
from actorsession.plan.signature import DebugSignature, RunSignature


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
def test_sorting_keeps_the_names_and_forgets_their_order(
    feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    once = RunSignature(feeds, fetches, targets).sorted()
    assert once == once.sorted()
    assert once == RunSignature(feeds[::-1], fetches[::-1], targets[::-1]).sorted()
    assert (set(once.feeds), set(once.fetches)) == (set(feeds), set(fetches))
    assert list(once.targets) == sorted(targets)


def test_the_three_kinds_of_names_are_not_mixed_up() -> None:
    different = {RunSignature(("a",), (), ()), RunSignature((), ("a",), ()), RunSignature((), (), ("a",))}
    assert len(different) == 3
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
