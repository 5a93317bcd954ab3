"""Collections of a graph: lists under names."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import Graph


class Named:
    """Something with a name."""

    def __init__(self, name: str) -> None:
        self.name = name


def test_a_collection_keeps_values_in_order_and_gives_copies() -> None:
    graph = Graph()
    for value in (3, 1, 3):
        graph.add_to_collection("a", value)
    found = graph.get_collection("a")
    found.append(4)
    assert graph.get_collection("a") == [3, 1, 3]
    assert graph.get_collection("none") == []
    graph = Graph()
    graph.add_to_collections(["a", "b", "a"], 1)
    graph.add_to_collections("ab", 2)
    assert [graph.get_collection(name) for name in ("a", "b", "ab")] == [[1], [1], [2]]
    graph = Graph()
    graph.add_to_collection("a", 1)
    graph.clear_collection("a")
    graph.clear_collection("none")
    assert graph.get_collection("a") == graph.get_all_collection_keys() == []
    # The list behind a collection can be changed.
    graph = Graph()
    graph.get_collection_ref("a").append(1)
    graph.add_to_collection("a", 2)
    del graph.get_collection_ref("a")[0]
    assert graph.get_collection("a") == [2]


def test_a_scope_is_a_pattern_that_names_begin_with() -> None:
    graph, one, two = Graph(), Named("scope/one"), Named("scoped/two")
    for value in (one, two, "nameless"):
        graph.add_to_collection("a", value)
    assert graph.get_collection("a", "scope") == [one, two]
    assert graph.get_collection("a", "scope/") == [one]
    assert graph.get_collection("a", ".*two") == [two]


def test_keys_that_are_no_strings_are_kept_but_not_listed() -> None:
    graph = Graph()
    key: Any = ("mine", 1)
    graph.add_to_collection(key, 1)
    graph.add_to_collection("a", 1)
    assert graph.get_collection(key) == [1]
    assert graph.get_all_collection_keys() == graph.collections == ["a"]
    with Graph().as_default() as graph:
        for name in ("a", "b"):
            acts.add_to_collection(name, 1)
        acts.add_to_collection("a", 2)
        graph.get_collection_ref("b").append(3)
        assert (acts.get_collection("a"), acts.get_collection("b")) == ([1, 2], [1, 3])
        assert graph.get_collection("a") == [1, 2]


def test_a_finalized_graph_takes_nothing_more() -> None:
    graph = Graph()
    graph.finalize()
    with pytest.raises(RuntimeError, match="collection 'a' was added to"):
        graph.add_to_collection("a", 1)
    with pytest.raises(RuntimeError, match="collection 'a' was cleared"):
        graph.clear_collection("a")
