"""Who has a say when a variable is made, and what is asked for by default."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import ops


def test_creators_are_asked_from_the_inside_out() -> None:
    log: list[str] = []

    def outer(next_creator: Any, **kwargs: Any) -> Any:
        log.append(f"outer {kwargs['name']} {kwargs['trainable']}")
        return next_creator(**kwargs)

    def inner(next_creator: Any, **kwargs: Any) -> Any:
        log.append("inner")
        return next_creator(**{**kwargs, "trainable": False})

    with acts.variables.variable_creator_scope(outer), acts.variables.variable_creator_scope(inner):
        v = acts.Variable(1.0, name="v")
        w = acts.get_variable("w", [2])
    assert (v.trainable, w.trainable, acts.Variable(1.0).trainable) == (False, False, True)
    assert log == ["inner", "outer v False", "inner", "outer w False"]


def test_a_creator_gets_every_argument_by_name() -> None:
    seen: dict[str, Any] = {}

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        seen.update(kwargs)
        return next_creator(**kwargs)

    with acts.variables.variable_creator_scope(creator):
        acts.Variable(1.0, False, ["mine"], dtype="float64")
    assert sorted(seen) == [
        "aggregation", "caching_device", "collections", "constraint", "dtype", "expected_shape",
        "import_scope", "initial_value", "name", "shape", "synchronization", "trainable",
        "use_resource", "validate_shape", "variable_def",
    ]  # fmt: skip
    assert (seen["initial_value"], seen["trainable"], seen["collections"]) == (1.0, False, ["mine"])
    assert (seen["dtype"], seen["validate_shape"], seen["shape"]) == ("float64", True, None)


def test_a_creator_may_make_something_else() -> None:
    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        made: list[Any] = [acts.Variable(1.0), acts.get_variable("w", [2])]
    assert made == ["anything", "anything"]


def test_creators_belong_to_a_graph_and_a_block() -> None:
    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        with acts.Graph().as_default():
            assert isinstance(acts.Variable(1.0), acts.Variable)
        with pytest.raises(KeyError), acts.variables.variable_creator_scope(lambda make, **kwargs: "other"):
            raise KeyError
        made: Any = acts.Variable(1.0)
        assert made == "anything"
    assert isinstance(acts.Variable(1.0), acts.Variable)


def test_kinds_of_variables_have_their_own_making() -> None:
    class Mine(acts.Variable):
        pass

    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        assert isinstance(Mine(1.0), Mine)


def test_variables_are_trained_unless_their_copies_are_only_read_together() -> None:
    on_read = acts.variables.VariableSynchronization.ON_READ
    assert acts.Variable(1.0).trainable
    assert not acts.Variable(1.0, synchronization=on_read).trainable
    assert acts.Variable(1.0, trainable=True, synchronization=on_read).trainable


def test_what_was_asked_for_is_remembered() -> None:
    v = acts.Variable(1.0, aggregation=acts.variables.VariableAggregation.MEAN)
    assert (v.aggregation, v.synchronization) == (
        acts.variables.VariableAggregation.MEAN,
        acts.variables.VariableSynchronization.AUTO,
    )
    assert acts.variables.VariableAggregation(3) is acts.variables.VariableAggregation.ONLY_FIRST_REPLICA


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"constraint": 3}, "constraint is a function or None, got 3"),
        ({"variable_def": object()}, "variable_def and initial_value are mutually exclusive"),
        ({"collections": "mine"}, "list, tuple or set"),
    ],
)
def test_arguments_that_make_no_variable_are_refused(arguments: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        acts.Variable(1.0, **arguments)
    assert ops.global_variables() == []


def test_a_collection_named_twice_is_joined_once() -> None:
    v = acts.Variable(1.0, collections=["mine", "mine"])
    assert v.graph.get_collection("mine") == [v]


@pytest.mark.parametrize("use_resource", [True, False])
def test_an_initial_value_from_inside_a_loop_is_refused(use_resource: bool) -> None:
    def made(lazily: bool) -> Any:
        first = acts.zeros([])
        value = (lambda: acts.zeros([])) if lazily else first
        return acts.Variable(value, use_resource=use_resource).read_value()

    def looped(lazily: bool) -> Any:
        return acts.while_loop(lambda i, _: i < 3, lambda i, _: (i + 1, made(lazily)), [0, 0.0])

    with acts.Graph().as_default():
        with pytest.raises(ValueError, match="inside a control-flow construct, 'while'"):
            looped(False)
        assert len(looped(True)) == 2


def test_a_variable_is_made_of_the_names_of_its_nodes() -> None:
    with acts.Graph().as_default():
        first = acts.Variable(3.0, trainable=False)
        again: Any = acts.Variable(variable_def=first.to_proto())
        assert (again.name, again.trainable) == (first.name, False)
