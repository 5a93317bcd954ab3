"""The table of operation types."""

from __future__ import annotations

import pytest

from actorsession.graph import registry
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    OpDef,
    is_registered,
    lookup,
    register,
    registered_ops,
)
from tests.graph.kit import join, leaf


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty table for one test."""
    monkeypatch.setattr(registry, "_OPS", {})


def made(name: str) -> OpDef:
    return OpDef(name=name, infer=lambda ctx: (), kernel=lambda ctx: lambda: None)


@pytest.mark.usefixtures("table")
def test_what_was_registered_is_found() -> None:
    op = made("Thing")
    assert not is_registered("Thing")
    assert register(op) is op
    assert is_registered("Thing")
    assert lookup("Thing") is op
    register(made("Another"))
    assert registered_ops() == ("Another", "Thing")


@pytest.mark.usefixtures("table")
def test_a_name_is_given_once() -> None:
    first = register(made("Thing"))
    with pytest.raises(KeyError, match="'Thing' is registered already"):
        register(made("Thing"))
    assert lookup("Thing") is first


@pytest.mark.usefixtures("table")
def test_an_unknown_type_is_answered_with_the_nearest_names() -> None:
    register(made("MatMul"))
    with pytest.raises(ValueError, match=r"'Matmul' is not registered; did you mean MatMul\?"):
        lookup("Matmul")
    with pytest.raises(ValueError, match="'Zzz' is not registered; 1 ops are registered"):
        lookup("Zzz")


def test_nothing_flows_through_an_op_that_is_not_differentiable() -> None:
    from actorsession.graph.graph import Graph

    graph = Graph()
    op = join(graph, leaf(graph), leaf(graph)).op
    assert NOT_DIFFERENTIABLE(op, None) == [None, None]
