"""A loop of callables tells of a growing and a changed graph as a loop of runs does."""

from __future__ import annotations

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
