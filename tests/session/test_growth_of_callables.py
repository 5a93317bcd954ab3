"""A loop of callables tells of a growing and a changed graph as a loop of runs does."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import actorsession as acts
from actorsession import ops


async def test_nodes_added_before_each_call_are_counted_and_warned_of_once(session: Any) -> None:
    x = ops.placeholder("float32", [])
    call = session.callable(x + 1.0, [x])
    await call(0)

    async def careless_loop() -> None:
        for i in range(30):
            ops.identity(x)
            assert await call(i) == i + 1

    with pytest.warns(acts.debugging.GraphGrowthWarning, match=r"growth_of_callables.py:\d+") as told:
        await careless_loop()
    assert len(told) == 1
    counted = session.session.statistics()
    assert (counted.growths, counted.grown_nodes) == (30, 30)
    assert counted.cache.misses == 1  # the callable itself looks at no new node


async def test_calls_of_a_finished_graph_are_nothing_to_warn_of(session: Any) -> None:
    x = ops.placeholder("float32", [])
    call = session.callable(x + 1.0, [x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(30):
            await call(i)
    assert session.session.statistics().growths == 0


async def test_changing_a_node_between_two_calls_is_reported(session: Any) -> None:
    x = ops.placeholder("float32", None)
    y = ops.identity(x, name="y")
    call = session.callable(y, [x])
    await call([1.0, 2.0])
    y.set_shape([2])
    with pytest.warns(acts.debugging.GraphMutationWarning, match="static shape of 'y:0' was changed"):
        await call([1.0, 2.0])
