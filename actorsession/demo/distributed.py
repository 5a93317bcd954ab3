"""The second half of the demo: the same model, trained by several processes at once.

The variables are on a parameter server. Each worker has a replica: a graph of its own, built by the same
code, whose variables are on the server and whose other nodes are on the worker. Replicas share only the
variables; each reads them, computes gradients and sends updates, at its own pace.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import actorsession as acts
from actorsession.cluster import Cluster
from actorsession.demo.digits import Digits
from actorsession.demo.model import Model, build_model
from actorsession.demo.places import PLACES, new_cluster
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

__all__ = ["Replica", "profile_step", "train_on_cluster"]

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


def build_replica(cluster: Cluster, index: int) -> Replica:
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
    on_start: Callable[[Cluster], None],
    place: str = PLACES[0],
) -> Lesson:
    """Start a cluster, train on it, inspect one step, and end the cluster.

    Args:
        digits: the training and test images.
        steps: training steps of all workers together.
        workers: the number of processes that train; one more holds the variables.
        on_progress: called from time to time.
        on_start: called with the cluster when its processes are about to start.
        place: one of ``PLACES``.
    """
    lesson = Lesson(where=f"1 ps + {workers} worker{'s' * (workers > 1)}", steps=steps)
    cluster = new_cluster(place, {"ps": 1, "worker": workers})
    on_start(cluster)
    async with cluster:
        replicas = [build_replica(cluster, index) for index in range(workers)]
        await _train_replicas(lesson, replicas, digits, on_progress)
        await profile_step(lesson, cluster, replicas[:1], digits)
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


async def profile_step(
    lesson: Lesson,
    cluster: Cluster,
    replicas: Sequence[Replica],
    digits: Digits,
    options: acts.RunOptions | None = None,
) -> None:
    """Count the traffic of a training step, and record when and where each node of one step runs.

    Args:
        lesson: gets the result.
        cluster: the cluster.
        replicas: those that run a step together.
        digits: the training and test images.
        options: of each step.
    """
    images, labels = next(batches(digits, seed=0))
    async with AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(replica.session()) for replica in replicas]

        async def step(*metadata: acts.RunMetadata) -> None:
            traced = options or acts.RunOptions()
            if metadata:
                traced = replace(traced, trace_level=acts.TraceLevel.FULL_TRACE)
            runs = itertools.zip_longest(sessions, replicas, metadata)
            await asyncio.gather(*[
                session.run(
                    replica.model.train, {replica.model.images: images, replica.model.labels: labels},
                    traced, found,
                )
                for session, replica, found in runs
            ])  # fmt: skip

        # The first run registers the graph with the workers; the following runs are all alike.
        await step()
        before = await _traffic(cluster, sessions)
        for _ in range(COUNTED_STEPS):
            await step()
        moved = await _traffic(cluster, sessions) - before
        metadata = acts.RunMetadata()
        for _ in range(2):  # a traced step is compiled separately, on its first run
            await step(metadata)
        lesson.trace = metadata.step_stats
    steps = COUNTED_STEPS * len(replicas)
    lesson.step_messages = moved.messages / steps
    lesson.step_bytes = moved.nbytes / steps


async def _traffic(cluster: Cluster, sessions: Sequence[acts.AsyncSession]) -> Traffic:
    """Return the total traffic of the cluster and these clients so far."""
    tasks = (await cluster.statistics()).values()
    return traffic(tasks, *[session.statistics().link for session in sessions])
