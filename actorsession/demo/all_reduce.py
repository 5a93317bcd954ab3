"""The second half of the demo without a parameter server: every worker has all variables.

Each worker has a session, a graph and variables of its own. Their steps meet in an all-reduce of the
gradients, so that all apply the same mean and keep the same variables. If a worker is lost, it is started
again, and all continue from the last checkpoint.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import actorsession as acts
from actorsession.cluster import Cluster
from actorsession.demo.digits import Digits
from actorsession.demo.distributed import Replica, profile_step
from actorsession.demo.model import LEARNING_RATE, build_model
from actorsession.demo.places import Variant, new_cluster
from actorsession.demo.training import LOOKS, Checkpoint, Lesson, OnProgress, Plan, check, report_nothing, train
from actorsession.errors import OpError, UnavailableError
from actorsession.graph.device import DeviceSpec, task_name
from actorsession.records import dataclass

__all__ = ["train_with_all_reduce"]

# Steps of sessions with this key meet.
_MEETS = acts.RunOptions(experimental=acts.RunOptions.Experimental(collective_graph_key=1))
# A cluster that loses more workers than this has another problem.
_MOST_RESTARTS = 3
_LOOKS_PER_SAVE = 10


@dataclass(frozen=True, slots=True)
class _Member:
    """A replica, with what keeps it equal to the others.

    Attributes:
        replica: the worker's copy of the model.
        begin: gives it the variables of the first one.
        saver: saves and restores its variables.
    """

    replica: Replica
    begin: acts.Operation
    saver: acts.train.Saver


def _build_member(cluster: Cluster, index: int, members: int, variant: Variant) -> _Member:
    graph = acts.Graph()
    with graph.as_default(), graph.device(f"/job:worker/task:{index}{variant.device}"):
        group = acts.collective.Group(members)
        # The mean of many batches may take larger steps (Goyal et al., 2017).
        model = build_model(
            LEARNING_RATE * members, lambda plain: acts.train.AllReduceOptimizer(plain, group), variant.network
        )
        begin = acts.train.broadcast_variables(group, sends=index == 0)
        saver = acts.train.Saver(max_to_keep=2)
    return _Member(Replica(index, cluster.target("worker", index), graph, model), begin, saver)


async def train_with_all_reduce(
    digits: Digits,
    steps: int,
    workers: int,
    on_progress: OnProgress,
    on_start: Callable[[Cluster], None],
    variant: Variant | None = None,
) -> Lesson:
    """Start a cluster, train on it, inspect one step, and end the cluster; see ``train_on_cluster``."""
    updates = max(1, steps // workers)
    where = f"{workers} worker{'s' * (workers > 1)}, all-reduce"
    lesson = Lesson(where=where, steps=updates * workers)
    variant = variant or Variant()
    cluster = new_cluster(variant, {"worker": workers})
    on_start(cluster)
    with TemporaryDirectory() as folder:
        async with cluster:
            members = [_build_member(cluster, index, workers, variant) for index in range(workers)]
            training = _Training(lesson, cluster, members, digits, updates, Path(folder), on_progress)
            await training.run()
            replicas = [member.replica for member in members]
            await profile_step(lesson, cluster, replicas, digits, _MEETS)
    return lesson


class _Training:
    """The training of all members, from checkpoint to checkpoint."""

    def __init__(
        self,
        lesson: Lesson,
        cluster: Cluster,
        members: list[_Member],
        digits: Digits,
        updates: int,
        folder: Path,
        on_progress: OnProgress,
    ) -> None:
        self._lesson = lesson
        self._cluster = cluster
        self._members = members
        self._digits = digits
        self._updates = updates
        self._every = max(1, updates // LOOKS)
        self._prefix = str(folder / "model")
        self._saved = ""
        self._saved_at = 0  # updates that the last checkpoint holds
        self._told = 0  # updates that were reported
        self._on_progress = on_progress

    async def run(self) -> None:
        """Train to the end, however many workers are lost in between, up to a limit."""
        start = time.perf_counter()
        while True:
            try:
                trained = asyncio.Barrier(len(self._members))
                async with asyncio.TaskGroup() as group:
                    for member in self._members:
                        name = f"member {member.replica.index}"
                        group.create_task(self._train(member, trained), name=name)
                break
            except* OpError as failed:
                lost = self._lost(failed)
                if not lost or len(self._lesson.events) >= _MOST_RESTARTS:
                    raise
            await self._restart(lost)
        self._lesson.seconds = time.perf_counter() - start

    async def _train(self, member: _Member, trained: asyncio.Barrier) -> None:
        """Train one member; the first one measures the accuracy and saves in between."""
        first, model = member.replica.index == 0, member.replica.model
        async with member.replica.session() as session:
            await session.run(model.initialize)
            if first and self._saved:
                await member.saver.restore_async(session, self._saved)
            await session.run(member.begin, options=_MEETS)
            done = self._saved_at
            while done < self._updates:
                if first:
                    await self._look(member, session, done)
                steps = min(self._every, self._updates - done)
                plan = Plan(steps=steps, look_every=0, seed=done * 1000 + member.replica.index)
                await train(session, model, self._digits, plan, report_nothing, _MEETS)
                done += steps
            if first:
                await self._look(member, session, done)
            # The others may still be in the last step, which ends with an error if a member's session does.
            await trained.wait()

    async def _look(self, member: _Member, session: acts.AsyncSession, done: int) -> None:
        """Measure and report the accuracy, and save the variables now and then."""
        accuracy = await check(session, member.replica.model, self._digits)
        members = len(self._members)
        self._lesson.curve.append(Checkpoint(done * members, accuracy.accuracy))
        if done > self._told:
            self._on_progress((done - self._told) * members, accuracy.accuracy)
            self._told = done
        if done >= self._saved_at + _LOOKS_PER_SAVE * self._every or not self._saved:
            path = await member.saver.save_async(session, self._prefix, global_step=done)
            self._saved, self._saved_at = str(path), done

    def _lost(self, failed: BaseExceptionGroup[OpError]) -> list[int]:
        """Return the workers whose processes ended, or that an error names as lost."""
        workers = range(len(self._members))
        status = self._cluster.status()
        lost = {i for i in workers if not status[task_name("worker", i)].alive}
        for error in _errors(failed):
            if isinstance(error, UnavailableError) and error.task:
                task = DeviceSpec.parse(error.task)
                if task.job == "worker" and task.task is not None and task.task in workers:
                    lost.add(task.task)
        return sorted(lost)

    async def _restart(self, lost: list[int]) -> None:
        for index in lost:
            await self._cluster.restart("worker", index)
        names = ", ".join(f"worker {index}" for index in lost)
        self._lesson.events.append(
            f"{names} lost; all members go on from the checkpoint of step {self._saved_at * len(self._members)}"
        )
        since = self._saved_at * len(self._members)
        self._lesson.curve[:] = [point for point in self._lesson.curve if point.step < since]


def _errors(group: BaseExceptionGroup[OpError]) -> Iterable[OpError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _errors(error)
        else:
            yield error
