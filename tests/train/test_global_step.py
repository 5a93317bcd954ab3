"""The one variable that counts training steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession.graph.dtypes import int64
from actorsession.graph.graph import Graph
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variable_lists import global_variables, trainable_variables
from actorsession.ops.variables import Variable
from actorsession.train import create_global_step, get_global_step, get_or_create_global_step
from tests.ops.interpreter import Variables, evaluate


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def test_a_graph_has_no_global_step_until_one_is_made() -> None:
    assert get_global_step() is None
    step = create_global_step()
    assert get_global_step() is step
    assert get_or_create_global_step() is step


def test_it_is_an_int64_scalar_that_starts_at_zero_and_is_not_trained(graph: Graph) -> None:
    with graph.name_scope("somewhere"):
        step = get_or_create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype is int64
    assert step.shape == []
    assert global_variables() == [step]
    assert trainable_variables() == []
    state = Variables()
    evaluate([step.initializer], None, state)
    assert evaluate([step], None, state) == [0]


def test_every_graph_has_its_own() -> None:
    step = get_or_create_global_step()
    other = Graph()
    assert get_or_create_global_step(other) is not step
    assert get_global_step(other).graph is other


def test_a_second_one_is_refused() -> None:
    create_global_step()
    with pytest.raises(ValueError, match="has a global step"):
        create_global_step()


def test_several_are_one_too_many(graph: Graph) -> None:
    for _ in range(2):
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(0))
    with pytest.raises(ValueError, match="2 global steps"):
        get_global_step()


@pytest.mark.parametrize("value", [0.0, [0, 1]])
def test_it_is_an_integer_scalar(graph: Graph, value: object) -> None:
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(value))
    with pytest.raises(TypeError, match="integer scalar"):
        get_global_step()
