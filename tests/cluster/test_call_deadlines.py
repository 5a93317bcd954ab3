"""One limit in time holds for the whole of a call, in whichever of its phases somebody falls silent."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from tests.cluster.kit import W0, W1, is_empty, long_product, on, until_all
from tests.cluster.proxy import Proxy, Way
from tests.loops import run_to_end

pytestmark = pytest.mark.process

# Seconds that a call may take, and those by which a machine that is shared may be late: less than any
# default, which is 30 s or more; the leases of the processes are longer still.
LIMIT, LATE = 1.0, 25.0
WITHIN = RunOptions(timeout_in_ms=int(1000 * LIMIT))


@contextmanager
def stopped(cluster: LocalCluster, index: int) -> Iterator[None]:
    """A worker answers nothing while the block lasts, and hangs nothing up."""
    process = cluster.process("worker", index)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def ends_at_its_limit(*kinds: type[OpError]) -> Iterator[None]:
    """The block ends in an error at its limit, and not after a lease or a default."""
    start = time.monotonic()
    with pytest.raises(kinds or DeadlineExceededError):
        yield
    assert LIMIT / 2 < time.monotonic() - start < LIMIT + LATE


@pytest.mark.parametrize("index", [0, 1], ids=["connecting", "creating"])
def test_the_limit_holds_while_a_session_begins(index: int, processes: LocalCluster, graph: Graph) -> None:
    """The master is stopped, so nobody answers the client; or a worker, so the cluster is not complete."""
    config = ConfigProto(operation_timeout_in_ms=int(1000 * LIMIT))

    async def main() -> None:
        session = AsyncSession(processes.target("worker"), graph=graph, config=config)
        with stopped(processes, index), ends_at_its_limit(UnavailableError, DeadlineExceededError):
            await session.list_devices()
        await session.close()
        async with AsyncSession(processes.target("worker"), graph=graph) as another:
            assert len(await another.list_devices()) == 3

    run_to_end(main())


def test_the_limit_holds_while_graphs_are_registered(processes: LocalCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    with on(W1):
        end = x + 1.0

    async def main() -> None:
        async with AsyncSession(processes.target("worker"), graph=graph) as session:
            await session.list_devices()
            with stopped(processes, 1), ends_at_its_limit():
                await session.run(end, {x: 1.0}, WITHIN)
            assert await session.run(end, {x: 1.0}) == 2.0

    run_to_end(main())


def test_the_limit_holds_while_a_step_runs(processes: LocalCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [None, None])
    with on(W1):
        long = long_product(x, 2000)
    with on(W0):
        end = ops.reduce_sum(long)
    large, small = np.full([500, 500], 0.01, np.float32), np.zeros([2, 2], np.float32)

    async def main() -> None:
        async with AsyncSession(processes.target("worker"), graph=graph) as session:
            await session.run(end, {x: small})
            with ends_at_its_limit():
                run = asyncio.create_task(session.run(end, {x: large}, WITHIN))
                await until_all([processes.target("worker", 1)], lambda seen: seen.steps == 1)
                with stopped(processes, 1):
                    await run
            assert await session.run(end, {x: small}) == 0.0

    run_to_end(main())


def test_the_limit_holds_while_values_are_fetched(processes: LocalCluster, graph: Graph) -> None:
    """The step ends well, and its answer never arrives."""
    x = ops.placeholder("float32", [])
    with on(W1):
        v = ops.Variable(0.0, name="fetched")
        end = v.assign_add(x)

    async def main() -> None:
        async with Proxy(processes.target("worker")) as proxy:
            async with AsyncSession(proxy.address, graph=graph) as session:
                await session.run(v.initializer)
                proxy.swallow(Way.BACK)
                with ends_at_its_limit():
                    await session.run(end, {x: 1.0}, WITHIN)
                proxy.heal()
            async with AsyncSession(processes.target("worker"), graph=graph) as session:
                assert await session.run(v) == 1.0
        await until_all(processes.spec.tasks().values(), is_empty)

    run_to_end(main())
