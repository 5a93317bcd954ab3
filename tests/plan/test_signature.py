"""What a run asks for, as the key under which its plan is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorsession.plan.signature import RunSignature

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
    different = {
        RunSignature(("a",), (), ()),
        RunSignature((), ("a",), ()),
        RunSignature((), (), ("a",)),
    }
    assert len(different) == 3


def test_a_signature_is_shown_as_tensorflow_writes_it() -> None:
    assert str(RunSignature(("x:0", "y:0"), ("z:0",), ("init",))) == "x:0,y:0->z:0/init"
