"""The second half of the demo: the same model, trained by several processes at once.

The variables are on a parameter server. Each worker has a replica: a graph of its own, built by the same
code, whose variables are on the server and whose other nodes are on the worker. Replicas share only the
variables; each reads them, computes gradients and sends updates, at its own pace. If a worker is lost, the
others go on, and another one joins them.
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
from actorsession.demo.places import Variant, new_cluster
from actorsession.demo.training import (
    LOOKS,
    TELL_EVERY,
    Lesson,
    OnProgress,
    Plan,
    batches,
    check,
    report_nothing,
    train,
)
from actorsession.errors import OpError
from actorsession.observe import Traffic, traffic
from actorsession.records import dataclass
from actorsession.train.device_setter import replica_device_setter

__all__ = ["Replica", "profile_step", "train_on_cluster"]

# So many that a heartbeat between two of them hardly counts.
COUNTED_STEPS = 20
# A cluster that loses more workers than this has another problem.
MOST_LOST = 3


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


def build_replica(cluster: Cluster, index: int, variant: Variant) -> Replica:
    """Build the replica of a worker."""
    graph = acts.Graph()
    placed = replica_device_setter(
        cluster=cluster.spec,
        ps_device=f"/job:ps{variant.device}",
        worker_device=f"/job:worker/task:{index}{variant.device}",
    )
    with graph.as_default(), graph.device(placed):
        model = build_model(network=variant.network)
    return Replica(index, cluster.target("worker", index), graph, model)


async def train_on_cluster(
    digits: Digits,
    steps: int,
    workers: int,
    on_progress: OnProgress,
    on_start: Callable[[Cluster], None],
    variant: Variant | None = None,
) -> Lesson:
    """Start a cluster, train on it, inspect one step, and end the cluster.

    Args:
        digits: the training and test images.
        steps: training steps of all workers together.
        workers: the number of processes that train; one more holds the variables.
        on_progress: called from time to time.
        on_start: called with the cluster when its processes are about to start.
        variant: what is trained, and where.
    """
    lesson = Lesson(where=f"1 ps + {workers} worker{'s' * (workers > 1)}", steps=steps)
    variant = variant or Variant()
    cluster = new_cluster(variant, {"ps": 1, "worker": workers})
    on_start(cluster)
    async with cluster:
        training = _Training(lesson, cluster, digits, on_progress, variant)
        await training.run(workers)
        await profile_step(lesson, cluster, [training.any_replica()], digits)
    return lesson


class _Training:
    """The training of all replicas, which take steps from one pool.

    So a worker may be lost or join at any time: the others take the steps. The variables are on the server.
    """

    def __init__(
        self, lesson: Lesson, cluster: Cluster, digits: Digits, on_progress: OnProgress, variant: Variant
    ) -> None:
        self._lesson = lesson
        self._cluster = cluster
        self._digits = digits
        self._on_progress = on_progress
        self._variant = variant
        self._look_every = max(1, lesson.steps // LOOKS)
        self._left = lesson.steps  # steps that no replica has taken
        self._done = 0
        self._looked = 0  # steps that were done at the last measurement
        self._replicas: dict[int, Replica] = {}  # of the workers that are there
        self._lost = 0  # workers
        self._children = asyncio.TaskGroup()

    def any_replica(self) -> Replica:
        """Return the replica of a worker that is there."""
        return next(iter(self._replicas.values()))

    async def run(self, workers: int) -> None:
        """Initialise the variables, train to the end, and measure before and after."""
        self._replicas = {i: build_replica(self._cluster, i, self._variant) for i in range(workers)}
        first = self.any_replica()
        async with first.session() as session:
            await session.run(first.model.initialize)
            self._lesson.curve.append(await check(session, first.model, self._digits))
        start = time.perf_counter()
        async with self._children:
            for replica in list(self._replicas.values()):
                self._begin(replica)
        self._lesson.seconds = time.perf_counter() - start
        last = self.any_replica()
        async with last.session() as session:
            self._lesson.curve.append(await check(session, last.model, self._digits))
        if self._lesson.events:
            self._note("done; the variables were on the server all the time")

    def _begin(self, replica: Replica) -> None:
        _ = self._children.create_task(self._train(replica), name=f"replica {replica.index}")

    async def _train(self, replica: Replica) -> None:
        """Train one replica for as long as there are steps, or until its worker is lost."""
        taken = 0
        try:
            async with replica.session() as session:
                while taken := min(self._left, TELL_EVERY):
                    self._left -= taken
                    plan = Plan(steps=taken, look_every=0, seed=self._left)
                    await train(session, replica.model, self._digits, plan, report_nothing)
                    steps, taken = taken, 0
                    await self._report(session, replica, steps)
        except OpError as error:
            self._left += taken
            await self._go_on_without(replica, error)

    async def _report(self, session: acts.AsyncSession, replica: Replica, steps: int) -> None:
        """Report steps that are done, and measure the accuracy from time to time."""
        self._done += steps
        accuracy = None
        if self._done - self._looked >= self._look_every and self._left:
            self._looked = self._done
            accuracy = await check(session, replica.model, self._digits)
            self._lesson.curve.append(accuracy)
        self._on_progress(steps, None if accuracy is None else accuracy.accuracy)

    async def _go_on_without(self, replica: Replica, error: OpError) -> None:
        """Leave the steps of a replica to the others if its worker was lost, and have another worker join.

        Raises:
            OpError: ``error``, if it is about something else, or too many workers were lost.
        """
        words = await self._cluster.process("worker", replica.index).last_words()
        if not words or self._lost >= MOST_LOST:
            raise error
        self._lost += 1
        del self._replicas[replica.index]
        self._note(f"{words.partition(';')[0]}; {self._workers()} go on")
        _ = self._children.create_task(self._join(), name="another worker")

    async def _join(self) -> None:
        """Start another worker, which trains from now on."""
        self._note("another worker is started")
        process = await self._cluster.add("worker")
        replica = build_replica(self._cluster, process.index, self._variant)
        self._replicas[replica.index] = replica
        self._note(f"{process.task} has joined; {self._workers()} train")
        self._begin(replica)

    def _workers(self) -> str:
        return f"workers {', '.join(map(str, self._replicas)) or '(none)'}"

    def _note(self, event: str) -> None:
        self._lesson.events.append(f"step {self._done}: {event}")


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
            await asyncio.gather(
                *[
                    session.run(
                        replica.model.train, {replica.model.images: images, replica.model.labels: labels}, traced, run
                    )
                    for session, replica, run in runs
                ]
            )

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
