"""The second half of the demo: the same model, trained by several processes at once.

The variables are on a parameter server. Each worker has a replica: a graph of its own, built by the same
code, whose variables are on the server and whose other nodes are on the worker. Replicas share only the
variables; each reads them, computes gradients and sends updates, at its own pace.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import actorsession as acts
from actorsession.demo.digits import Digits
from actorsession.demo.model import Model, build_model
from actorsession.demo.training import (
    LOOKS,
    Checkpoint,
    Lesson,
    OnProgress,
    Plan,
    batches,
    check,
    train,
)  # fmt: skip
from actorsession.observe import Traffic, traffic
from actorsession.records import dataclass
from actorsession.train.device_setter import replica_device_setter

__all__ = ["train_on_cluster"]

# So many that a heartbeat between two of them hardly counts.
COUNTED_STEPS = 20


@dataclass(frozen=True, slots=True)
class Replica:
    """One worker's copy of the model.

    Attributes:
        index: the index of the worker.
        target: the address of the worker, which is the master of the replica's session.
        graph: the graph of the replica.
        model: the nodes of the replica.
    """

    index: int
    target: str
    graph: acts.Graph
    model: Model

    def session(self) -> acts.AsyncSession:
        """Return a new session that runs the replica."""
        return acts.AsyncSession(self.target, graph=self.graph)


def build_replica(cluster: acts.LocalCluster, index: int) -> Replica:
    """Build the replica of a worker."""
    graph = acts.Graph()
    placed = replica_device_setter(cluster=cluster.spec, worker_device=f"/job:worker/task:{index}")
    with graph.as_default(), graph.device(placed):
        model = build_model()
    return Replica(index, cluster.target("worker", index), graph, model)


async def train_on_cluster(
    digits: Digits,
    steps: int,
    workers: int,
    on_progress: OnProgress,
    on_start: Callable[[acts.LocalCluster], None],
) -> Lesson:
    """Start a cluster, train on it, inspect one step, and end the cluster.

    Args:
        digits: the training and test images.
        steps: training steps of all workers together.
        workers: the number of processes that train; one more holds the variables.
        on_progress: called from time to time.
        on_start: called with the cluster when its processes are about to start.
    """
    lesson = Lesson(where=f"1 ps + {workers} worker{'s' * (workers > 1)}", steps=steps)
    cluster = acts.LocalCluster({"ps": 1, "worker": workers})
    on_start(cluster)
    async with cluster:
        replicas = [build_replica(cluster, index) for index in range(workers)]
        await _train_replicas(lesson, replicas, digits, on_progress)
        await _profile_step(lesson, cluster, replicas[0], digits)
    return lesson


async def _train_replicas(
    lesson: Lesson, replicas: list[Replica], digits: Digits, on_progress: OnProgress
) -> None:
    """Run all replicas at the same time; the first one initialises the variables."""
    first, *others = replicas
    share, rest = divmod(lesson.steps, len(replicas))
    plan = Plan(steps=share + rest, look_every=max(1, share // LOOKS))
    async with first.session() as session:
        await session.run(first.model.initialize)
        lesson.curve.append(await check(session, first.model, digits))
        start = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for other in others:
                theirs = replace(plan, steps=share, look_every=0, seed=other.index)
                group.create_task(
                    _train_replica(other, digits, theirs, on_progress),
                    name=f"replica {other.index}",
                )
            lesson.curve += await train(session, first.model, digits, plan, on_progress)
        lesson.seconds = time.perf_counter() - start
        lesson.curve.append(await check(session, first.model, digits))


async def _train_replica(
    replica: Replica, digits: Digits, plan: Plan, on_progress: OnProgress
) -> list[Checkpoint]:
    async with replica.session() as session:
        return await train(session, replica.model, digits, plan, on_progress)


async def _profile_step(
    lesson: Lesson, cluster: acts.LocalCluster, replica: Replica, digits: Digits
) -> None:
    """Count the traffic of a training step, and record when and where each node of one step runs."""
    images, labels = next(batches(digits, seed=0))
    feeds = {replica.model.images: images, replica.model.labels: labels}
    async with replica.session() as session:
        # The first run registers the graph with the workers; the following runs are all alike.
        await session.run(replica.model.train, feeds)
        before = await _traffic(cluster, session)
        for _ in range(COUNTED_STEPS):
            await session.run(replica.model.train, feeds)
        moved = await _traffic(cluster, session) - before
        # A traced step is compiled separately, on its first run.
        await _traced(session, replica.model, feeds)
        lesson.trace = await _traced(session, replica.model, feeds)
    lesson.step_messages = moved.messages / COUNTED_STEPS
    lesson.step_bytes = moved.nbytes / COUNTED_STEPS


async def _traffic(cluster: acts.LocalCluster, session: acts.AsyncSession) -> Traffic:
    """Return the total traffic of the cluster and this client so far."""
    return traffic((await cluster.statistics()).values(), session.statistics().link)


async def _traced(
    session: acts.AsyncSession, model: Model, feeds: dict[acts.Tensor, np.ndarray]
) -> acts.config.StepStats:
    metadata = acts.RunMetadata()
    options = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE)
    await session.run(model.train, feeds, options, metadata)
    assert metadata.step_stats is not None
    return metadata.step_stats
