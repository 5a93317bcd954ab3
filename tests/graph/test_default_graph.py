"""The module-level spellings act on the default graph and on nothing else."""

from __future__ import annotations

import pytest

from actorsession import Graph
from actorsession.graph import graph as defaults
from tests.graph.kit import op


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_scopes_are_those_of_the_default_graph(graph: Graph) -> None:
    other = Graph()
    with graph.as_default():
        first = op(graph, "first")
        with defaults.name_scope("s") as scope, defaults.device("/cpu:1"), defaults.control_dependencies([first]):
            assert scope == "s/"
            node, elsewhere = op(graph, "n"), op(other, "n")
        with defaults.colocate_with(node):
            third = op(graph, "third")
    assert (node.name, node.device, node.control_inputs) == ("s/n", "/device:CPU:1", (first,))
    assert third.groups() == ("loc:@s/n",)
    assert (elsewhere.name, elsewhere.device, elsewhere.control_inputs) == ("n", "", ())


def test_collections_are_those_of_the_default_graph(graph: Graph) -> None:
    with graph.as_default():
        defaults.add_to_collection("v", 1)
        assert defaults.get_collection("v") == [1]
        assert defaults.get_collection("v", "name") == []
    assert Graph().get_collection("v") == []
    assert graph.get_collection("v") == [1]
