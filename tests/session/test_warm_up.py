"""``warm_up``: all that a first run does before its step begins, and nothing of the step."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops
from actorsession.errors import InvalidArgumentError
from tests.cluster.kit import eventually, soon
from tests.rows import for_each
from tests.session.large_kit import held_pass, large


def plans(face: Any) -> tuple[int, int]:
    """Plans kept, and look-ups that found none."""
    cache = face.session.statistics().cache
    return cache.plans, cache.misses


async def test_the_first_run_afterwards_plans_nothing(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.warm_up(z, [x])
    assert plans(session) == (1, 1)
    np.testing.assert_array_equal(await session.run(z, {x: [0.0]}), [0.0])
    assert plans(session) == (1, 1)


@for_each(
    "feeds",
    [["b:0", "a:0"], {"a:0": None, "b:0": "no value"}, ("a:0", ["b:0"])],
    ids=["in another order", "as a feed dict", "nested"],
)
async def test_feeds_are_keys_in_any_form_and_order(session: Any, feeds: Any) -> None:
    a, b = (ops.placeholder("float32", [], name=name) for name in "ab")
    await session.warm_up([a + b, a - b], feeds)
    before = plans(session)
    assert await session.run([a + b, a - b], {a: 3.0, b: 1.0}) == [4.0, 2.0]
    assert plans(session)[0] == before[0] + 1  # other nodes, for these were made just now
    total, difference = a * b, a / b
    await session.warm_up({"x": total, "y": difference}, feeds)
    before = plans(session)
    assert await session.run([difference, total], {b: 1.0, a: 3.0}) == [3.0, 3.0]
    assert plans(session) == before


async def test_no_state_changes_and_no_kernel_runs(session: Any) -> None:
    called: list[Any] = []

    def see() -> Any:
        called.append(1)
        return np.float32(1.0)

    v = ops.Variable(1.0)
    update = v.assign_add(1.0)
    seen = ops.py_func(see, [], "float32")
    initialise = ops.global_variables_initializer()
    for fetches in (initialise, [update, seen]):
        assert await session.warm_up(fetches) is None
    assert session.session.statistics().variables == 0
    assert not called
    await session.run(initialise)
    await session.warm_up([update, v])
    assert await session.run(v) == 1.0
    assert await session.run(update) == 2.0


async def test_a_callable_finds_the_plan_too(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.warm_up(z, [x])
    before = plans(session)[0]
    await session.callable(z, [x])(np.zeros(2, np.float32))
    assert plans(session)[0] == before


async def test_a_partial_run_finds_its_plan(session: Any, stages: Any) -> None:
    x = ops.placeholder("float32", [], name="half")
    y = x * 2.0
    await session.warm_up([y], [x], partial=True)
    made = len(session.session._session.partial_runs._plans.plans())
    assert made == 1
    assert session.counts() == (0, 0, 0)
    handle = await session.partial_run_setup([y], [x])
    assert await session.partial_run(handle, y, {x: 2.0}) == 4.0
    assert len(session.session._session.partial_runs._plans.plans()) == made


async def test_what_the_run_would_refuse_is_refused(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="feed a value for placeholder"):
        await session.warm_up(z)
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        await session.warm_up(z, ["nothing:0"])
    with pytest.raises(ValueError, match="nothing"):
        await session.warm_up("nothing:0", [x])
    await session.warm_up(x, [x])  # there is nothing to plan
    await session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.warm_up(z, [x])


async def test_a_large_graph_is_warmed_up_while_the_loop_goes_on(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = large(x)
    with held_pass() as held:
        async with AsyncSession(graph=graph) as session:
            warm = asyncio.ensure_future(session.warm_up(y, [x]))
            await eventually(lambda: held.entered == 1)
            held.go.set()
            await soon(warm)
            await soon(session.run(y, {x: 1.0}))
            assert held.entered == 1


async def test_a_synchronous_session_refuses_it_inside_a_running_loop(graph: Graph) -> None:
    with Session(graph=graph) as session, pytest.raises(RuntimeError, match="AsyncSession"):
        session.warm_up(ops.constant(1.0))
