"""Random graphs give numpy's answer, whether on one device, on three, or on two processes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from actorsession import ConfigProto, Graph, LocalCluster, Session
from actorsession.testing.strategies import Recipe, assert_agree, graphs
from tests.property.conftest import TASKS


def run(recipe: Recipe, graph: Graph, session: Session, place: Any) -> None:
    expected = recipe.compute()
    # Repeated squaring overflows in the end; inf and nan have their own tests, op by op.
    assume(all(np.abs(v).max(initial=0) < 1e4 for v in expected))
    placeholders, tensors = recipe.build(graph, place)
    feeds = dict(zip(placeholders, recipe.fed(), strict=True))
    assert_agree(session.run(tensors, feeds), expected)
    assert_agree(session.run(tensors[::-1], feeds), expected[::-1])
    assert_agree([session.run(tensors[-1], feeds)], expected[-1:])


@given(recipe=graphs())
def test_on_one_device(recipe: Recipe) -> None:
    graph = Graph()
    with Session(graph=graph) as session:
        run(recipe, graph, session, lambda _: graph.device(None))


@given(recipe=graphs())
def test_on_three_devices(recipe: Recipe) -> None:
    graph = Graph()
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 3})) as session:
        run(recipe, graph, session, lambda place: graph.device(f"/cpu:{place}"))


@pytest.mark.process
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(recipe=graphs())
def test_on_two_processes(processes: LocalCluster, recipe: Recipe) -> None:
    graph = Graph()

    def place(number: int) -> AbstractContextManager[Any]:
        return graph.device(TASKS[number])

    with Session(processes.target("worker", 0), graph=graph) as session:
        run(recipe, graph, session, place)
