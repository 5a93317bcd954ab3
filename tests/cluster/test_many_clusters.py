"""Many clusters at once on ports that the kernel chooses."""

from __future__ import annotations

import asyncio

from actorsession import AsyncSession, Graph, ops
from tests.cluster.kit import InProcess, chain

CLUSTERS = 50


async def test_fifty_clusters_started_at_once_have_ports_of_their_own(graph: Graph) -> None:
    """Nobody guesses a free port, so nobody gets another one's; each serves its own session."""
    x = ops.placeholder("float32", [], name="x")
    end = chain(x, 2)
    clusters = [InProcess({"worker": 2}, cluster_id=f"cluster {n}") for n in range(CLUSTERS)]
    try:
        await asyncio.gather(*[cluster.start() for cluster in clusters])
        targets = [server.target for cluster in clusters for server in cluster.servers]
        assert len(set(targets)) == 2 * CLUSTERS

        async def use(number: int, cluster: InProcess) -> float:
            async with AsyncSession(cluster.target(), graph) as session:
                found: float = await session.run(end, {x: float(number)})
                return found

        used = await asyncio.gather(*[use(n, cluster) for n, cluster in enumerate(clusters)])
        assert used == [n + 2.0 for n in range(CLUSTERS)]
    finally:
        await asyncio.gather(*[cluster.stop() for cluster in clusters])
