"""``warm_up`` on a cluster: the master plans and registers with the workers, and no step is run."""

from __future__ import annotations

import pytest

from actorsession import AsyncSession, Graph, ops
from tests.cluster.kit import W0, W1, InProcess, on, soon


def runs(cluster: InProcess) -> int:
    """Steps that workers have begun so far."""
    return sum(s._actors.worker.counts().runs if s._actors is not None else 0 for s in cluster.servers)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("partial", [False, True], ids=["a run", "a partial run"])
async def test_the_run_after_it_plans_and_registers_nothing(cluster: InProcess, graph: Graph, partial: bool) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = on(W0, lambda: x + 1.0)
    z = on(W1, lambda: y * 2.0)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.warm_up([z], [x], partial=partial))
        assert [s.graphs for s in cluster.statistics().values()] == [1, 1]
        assert runs(cluster) == 0
        if partial:
            handle = await soon(session.partial_run_setup([z], [x]))
            assert await soon(session.partial_run(handle, z, {x: 1.0})) == 4.0
        else:
            assert await soon(session.run([z], {x: 1.0})) == [4.0]
        assert [s.graphs for s in cluster.statistics().values()] == [1, 1]


async def test_no_state_changes_on_any_task(session: AsyncSession, cluster: InProcess) -> None:
    v = on(W1, lambda: ops.Variable(1.0))
    initialise, update = ops.global_variables_initializer(), v.assign_add(1.0)
    await soon(session.warm_up(initialise))
    await soon(session.warm_up(update))
    assert runs(cluster) == 0
    await soon(session.run(initialise))
    await soon(session.warm_up(update))
    assert await soon(session.run(v)) == 1.0
