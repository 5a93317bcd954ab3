"""Gradients of loops and branches over remote sessions: lists travel, and nodes grow that a master has."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import AsyncSession, Graph, ops
from tests.cluster.kit import W0, W1, InProcess, on, soon


def looped(x: Any, w: Any) -> Any:
    return ops.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, ops.cond(a > 0.1, lambda: ops.sin(a) * w, lambda: a * a)), [0, x]
    )[1]


async def test_lists_of_a_loop_on_one_worker_are_read_on_another(cluster: InProcess, way: str, graph: Graph) -> None:
    x = ops.placeholder("float64", [])
    w = ops.placeholder("float64", [])
    with on(W0):
        y = looped(x, w)
    with on(W1):
        grads = ops.gradients(y, [x, w])
    async with AsyncSession(cluster.target(), graph=graph) as session:
        value, *found = await soon(session.run([y, *grads], {x: 0.7, w: 1.3}))
        by_x = await soon(session.run(y, {x: 0.7 + 1e-6, w: 1.3}))
        by_w = await soon(session.run(y, {x: 0.7, w: 1.3 + 1e-6}))
    assert found == pytest.approx([(by_x - value) / 1e-6, (by_w - value) / 1e-6], rel=1e-3)
    await cluster.until_idle()


async def test_gradients_that_are_built_after_a_run_go_through_what_the_master_knows(
    cluster: InProcess, way: str, graph: Graph
) -> None:
    x = ops.placeholder("float64", [])
    with on(W1):
        y = looped(x, x)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        before = await soon(session.run(y, {x: 0.7}))
        (grad,) = ops.gradients(y, x)
        value, slope = await soon(session.run([y, grad], {x: 0.7}))
        ahead = await soon(session.run(y, {x: 0.7 + 1e-6}))
        assert value == before
        assert slope == pytest.approx((ahead - before) / 1e-6, rel=1e-3)
    await cluster.until_idle()


async def test_slices_that_a_loop_gathers_are_summed_elsewhere(cluster: InProcess, way: str, graph: Graph) -> None:
    """The lists that they are gathered in are empty at first, and are no constants of a plan."""
    rows = ops.placeholder("float64", [4, 2])
    with on(W0):
        _, y = ops.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, a + ops.reduce_sum(ops.gather(rows, [i, 0]))),
            [0, ops.constant(0.0, "float64")],
        )
    with on(W1):
        grad = ops.convert_to_tensor(ops.gradients(y, rows)[0])
    async with AsyncSession(cluster.target(), graph=graph) as session:
        found = await soon(session.run(grad, {rows: [[1.0, 2.0]] * 4}))
    assert found.tolist() == [[4, 4], [1, 1], [1, 1], [0, 0]]
    await cluster.until_idle()
