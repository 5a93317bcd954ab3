"""New nodes that cannot be taken in change nothing, whichever call meets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from actorsession.errors import InvalidArgumentError
from tests.session.test_cost_model import HEAVY, X, placing, teach, two_chains


def summary(face: Any) -> Any:
    """What a failed extension might have changed."""
    seen = face.session.statistics()
    cache = seen.cache
    return (seen.nodes, cache.plans, cache.evictions, seen.steps, seen.pending, seen.partial_runs)


async def test_each_call_that_meets_new_nodes_is_refused_and_changes_nothing(session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    v = ops.Variable(1.0)
    y, read = x + 1.0, v + 0.0
    await session.run(v.initializer)
    assert await session.run([y, read], {x: 1}) == [2, 1]
    handle = await session.partial_run_setup(y, x)
    with graph.device("/job:nowhere"):
        ops.identity(x, name="astray")
    new = y * 3.0
    before = summary(session)
    calls: list[Callable[[], Any]] = [
        lambda: session.run(new, {x: 1}),
        lambda: session.partial_run_setup(new, x),
        lambda: session.callable(new, [x])(1),
    ]
    for call in calls * 2:
        with pytest.raises(InvalidArgumentError, match="'astray' requests device /job:nowhere"):
            await call()
        assert summary(session) == before
    # What was begun or planned before goes on, with its state.
    assert await session.partial_run(handle, y, {x: 4}) == 5
    assert await session.run([y, read], {x: 2}) == [3, 1]


async def test_nodes_that_were_placed_anew_stay_where_they_are(make_session: Any, graph: Graph) -> None:
    """1. Measured costs move nodes. 2. One new node would bring one of them back. 3. Another one cannot be
    placed. 4. Both are refused, and the moved node stays."""
    face = make_session(placing(period=1))
    end = two_chains()
    teach(face.session, **HEAVY)
    for _ in range(2):  # the first moves them, the second makes the plan for where they are
        await face.run(end, {"x:0": X})
    placed = face.session._session.placement()
    moved = [name for name, place in placed.items() if place.reason.startswith("cost model")]
    assert moved
    with graph.colocate_with(graph.get_operation_by_name(moved[0])):
        tied = ops.exp(end, name="tied")
    with graph.device("/cpu:9"):
        ops.identity(end, name="astray")
    with pytest.raises(InvalidArgumentError, match="'astray'"):
        await face.run(tied, {"x:0": X})
    now = face.session._session.planner._state.placed
    assert {name: now[name] for name in moved} == {name: placed[name] for name in moved}
    np.testing.assert_allclose(await face.run(end, {"x:0": X}), two_chains_of(X), rtol=1e-6)


def two_chains_of(x: Any) -> Any:
    """What ``two_chains`` computes."""
    a = b = x
    for _ in range(3):
        a, b = np.tanh(a), np.exp(b)
    return a + b
