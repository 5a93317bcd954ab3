"""What a run asks for, as the key under which its plan is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.plan.signature import DebugSignature, RunSignature

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
