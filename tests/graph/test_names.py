"""Names are made unique exactly as TensorFlow makes them (every answer here was seen there)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph
from actorsession.graph.names import NameTable, check_op_name, check_scope_name
from tests.graph.kit import leaf, op
from tests.rows import for_each, refusing


@for_each(
    "asked, given",
    [
        ("x x x y x", "x x_1 x_2 y x_3"),
        # Case makes no other name but is kept.
        ("x X x", "x X_1 x_2"),
        # Names that look like numbered ones are numbered again.
        ("x x X x_1 x x_1 X_2", "x x_1 X_2 x_1_1 x_3 x_1_2 X_2_1"),
        # Numbers taken by hand are left out.
        ("x_2 x x x x", "x_2 x x_1 x_3 x_4"),
    ],
)
def test_a_name_asked_for_again_gets_numbers_that_go_up(asked: str, given: str) -> None:
    graph = Graph()
    assert [op(graph, name).name for name in asked.split()] == given.split()


def test_without_a_name_an_operation_is_called_by_its_type() -> None:
    graph = Graph()
    assert [op(graph).name, op(graph).name] == ["KitNothing", "KitNothing_1"]
    assert leaf(graph).op.name == "KitLeaf"
    assert op(Graph(), "x").name == op(Graph(), "x").name == "x"


def test_scopes_and_operations_share_one_table() -> None:
    graph = Graph()
    assert op(graph, "x").name == "x"
    with graph.name_scope("x") as scope:
        assert scope == "x_1/"
        assert op(graph, "y").name == "x_1/y"
    assert op(graph, "x/y").name == "x/y"
    assert op(graph, "x_1/y").name == "x_1/y_1"


def test_unique_name_takes_a_name_unless_told_not_to() -> None:
    graph = Graph()
    assert graph.unique_name("u") == "u"
    assert graph.unique_name("u") == "u_1"
    assert graph.unique_name("u", mark_as_used=False) == "u_2"
    assert graph.unique_name("u", mark_as_used=False) == "u_2"
    assert op(graph, "u").name == "u_2"
    assert graph.unique_name("U") == "U_3"


def test_a_name_that_ends_in_a_slash_is_taken_as_it_is() -> None:
    graph = Graph()
    with graph.name_scope("outer"):
        assert op(graph, "a/b/").name == "a/b"
    with pytest.raises(ValueError, match="an operation named 'a/b' exists"):
        op(graph, "a/b/")
    # A name taken literally is taken for those who ask afterwards. TensorFlow forgets to note such names, and then
    # fails on the duplicate.
    graph = Graph()
    op(graph, "a/")
    assert op(graph, "a").name == "a_1"
    assert op(graph, "A/").name == "A", "two names may differ in case when both are literal"


def model(taken: dict[str, int], name: str) -> str:
    """The rule once more, word for word as TensorFlow states it."""
    key = name.lower()
    count = taken.get(key, 0)
    taken[key] = count + 1
    if count > 0:
        base = key
        while key in taken:
            key = f"{base}_{count}"
            count += 1
        taken[key] = 1
        name = f"{name}_{count - 1}"
    return name


@given(st.lists(st.sampled_from(["x", "X", "x_1", "x_2", "X_1", "x_1_1", "y", "x_10"])))
def test_any_sequence_of_wishes_is_answered_by_the_rule(wishes: list[str]) -> None:
    taken: dict[str, int] = {}
    table = NameTable()
    for wanted in wishes:
        given_ = table.unique(wanted)
        table.mark_used(wanted, given_)
        assert given_ == model(taken, wanted)


def test_a_thousand_equal_names_take_no_longer_each_than_one() -> None:
    """The search starts behind the last suffix given, not at the first."""
    table = NameTable()
    for number in range(1000):
        given_ = table.unique("x")
        table.mark_used("x", given_)
        assert given_ == ("x" if number == 0 else f"x_{number}")
    assert table._next["x"] == 1000


# -- what a name may look like ---------------------------------------------------------------------

ANYWHERE = ["a", "9a", ".a", "a/b", "a//b", "a\\b", "a>b", "a-b", "A_b.c"]
INSIDE_A_SCOPE = ["_a", "/a", "-a", "\\a", ">a"]
NOWHERE = ["a b", "a:0", "é", "a?", "a\n", "a,b", "^a", "a;b", "a#"]


@for_each("name", ANYWHERE)
def test_a_good_name_is_good_everywhere(name: str) -> None:
    graph = Graph()
    assert op(graph, name).name == name
    with graph.name_scope("r"):
        assert op(graph, name).name == f"r/{name}"
        with graph.name_scope(name) as scope:
            assert scope == f"r/{name}_1/"
    with Graph().name_scope(name) as scope:
        assert scope == f"{name}/"


@for_each("name", INSIDE_A_SCOPE)
def test_odd_first_characters_are_allowed_inside_a_scope_only(name: str) -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="not a valid node name"):
        op(graph, name)
    with pytest.raises(ValueError, match=r"not a valid (root )?scope name"), graph.name_scope(name):
        pass
    with graph.name_scope("r"):
        assert op(graph, name).name == f"r/{name}"
        with graph.name_scope(name) as scope:
            assert scope == f"r/{name}_1/"


@for_each("name", NOWHERE)
def test_other_characters_are_refused_everywhere(name: str) -> None:
    graph = Graph()
    for scope in (None, "r"):
        with graph.name_scope(scope):
            with pytest.raises(ValueError, match=r"not a valid node name. Accepted names conform"):
                op(graph, name)
            with pytest.raises(ValueError, match=r"not a valid (root )?scope name"):
                graph.name_scope(name).__enter__()
    assert graph.get_operations() == []


test_a_literal_name_must_be_valid_as_well = refusing(
    *((lambda name=name: op(Graph(), name), ValueError, "not a valid node name") for name in ("/", "_a/", "a b/")),
    # An empty name is refused by the rule itself.
    (lambda: check_op_name(""), ValueError, "not a valid node name"),
    (lambda: check_scope_name("", ""), ValueError, r"not a valid (root )?scope name"),
)
