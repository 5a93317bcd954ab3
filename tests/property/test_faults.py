"""Random graphs over two simulated workers; one of them crashes, stands still or is cut off at a drawn moment of a run.

The run gives numpy's answer or one error that names the task; what it took and counted is there once or not at
all; and when the fault is over, a further run gives numpy's answer and nothing of any run is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession import AsyncSession, ops
from actorsession.config import RunOptions
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.testing import SimulatedCluster
from actorsession.testing.strategies import Recipe, assert_agree, graphs
from tests.cluster.kit import W0, W1, eventually, is_empty, is_idle
from tests.property.test_steps import Checks, Model

TASKS = (W0, W1)
# Milliseconds of a run that a fault is to outlast: the fault ends when the run has.
LIMIT = 200


class Scene:
    """A master and another worker."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster

    async def until(self, condition: Callable[[Any], bool], *tasks: str) -> None:
        """Waits until tasks meet a condition, both by default."""
        for task in tasks or TASKS:
            server = self.cluster.processes[task].server
            assert server is not None
            await eventually(lambda server=server: condition(server.statistics()))  # type: ignore[misc]

    def others(self, victim: int) -> list[str]:
        return ["client", f"worker-{1 - victim}"]

    async def kill(self, victim: int) -> None:
        self.cluster.task("worker", victim).crash()

    async def restart(self, victim: int) -> None:
        await self.cluster.restart("worker", victim)

    async def pause(self, victim: int) -> None:
        self.cluster.task("worker", victim).stall()

    async def resume(self, victim: int) -> None:
        self.cluster.task("worker", victim).go_on()

    async def cut(self, victim: int) -> None:
        for other in self.others(victim):
            self.cluster.network.cut(f"worker-{victim}", other)

    async def hold(self, victim: int) -> None:
        for other in self.others(victim):
            self.cluster.network.part(f"worker-{victim}", other)

    async def heal(self, victim: int) -> None:
        self.cluster.network.heal()


@dataclass(frozen=True)
class Fault:
    """What befalls a task, what ends it, and whether a run can outlast it."""

    befalls: Callable[[Scene, int], Awaitable[None]]
    ends: Callable[[Scene, int], Awaitable[None]]
    passes: bool


FAULTS = {
    "killed": Fault(Scene.kill, Scene.restart, passes=False),
    "cut off": Fault(Scene.cut, Scene.heal, passes=False),
    "stopped": Fault(Scene.pause, Scene.resume, passes=True),
    "held up": Fault(Scene.hold, Scene.heal, passes=True),
}


@dataclass(frozen=True)
class Moment:
    """When a fault befalls which task.

    Attributes:
        task: the place of the task.
        turns: of the loop, from the begin of the run to the fault, and from there to its end if the run can
            outlast it.
        waits: whether the run waits in its middle until the fault has begun.
        limited: whether a run that can outlast the fault has a limit that the fault outlasts.
    """

    task: int
    turns: tuple[int, int]
    waits: bool
    limited: bool


_TURNS = st.integers(0, 1000)
moments = st.builds(Moment, st.integers(0, 1), st.tuples(_TURNS, _TURNS), st.booleans(), st.booleans())
counted = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1)), max_size=2).map(tuple)


class Play:
    """One graph in one session, with a run that a fault befalls and a further one."""

    def __init__(self, scene: Scene, fault: Fault, moment: Moment, recipe: Recipe, model: Model) -> None:
        self.scene, self.fault, self.moment, self.recipe, self.model = scene, fault, moment, recipe, model
        self.victim, self.other = TASKS[moment.task], TASKS[1 - moment.task]
        self.feeds = model.feeds([np.ascontiguousarray(x) for x in recipe.fed()], 0)
        with model.graph.as_default():
            with model.graph.device(self.other):
                # With a name that it shares it outlives the session's side at a lost master.
                self.queue = ops.FIFOQueue(4, "float32", [[]], shared_name="taken")
                self.put, self.size = self.queue.enqueue(1.0), self.queue.size()
                with model.graph.control_dependencies([model.values[len(model.values) // 2]]):
                    taken = self.queue.dequeue()
            with model.graph.device(self.victim):
                self.crossed = ops.negative(taken)
        self.expected = recipe.compute()
        self.added = [np.mean(self.expected[number % len(self.expected)]) for number, _ in model.checks.counted]

    async def play(self) -> None:
        async with self.scene.cluster.session(self.model.graph) as session:
            await session.run(self.model.reset)
            await session.run(self.put)
            await self.run(session)
            await session.run(self.model.reset)
            if not self.moment.waits:
                await session.run(self.put)
            error = await self.faulted(session)
            await self.scene.until(is_idle)
            before = await self.found(session, error)
            await session.run(self.put)
            for was, now, one in zip(before, await self.run(session), self.added, strict=True):
                np.testing.assert_allclose(now, was + one, rtol=1e-3, atol=1e-3)
        await self.scene.until(is_empty)

    async def run(self, session: AsyncSession, limit: int = 0) -> list[Any]:
        """Compares the values of a run with numpy's; returns what the variables are then."""
        options = RunOptions(timeout_in_ms=limit)
        *found, crossed = await session.run([*self.model.fetches, self.crossed], self.feeds, options=options)
        values = len(self.expected)
        assert_agree(found[:values], self.expected)
        assert crossed == -1.0
        return found[values:]

    async def faulted(self, session: AsyncSession) -> OpError | None:
        """Has the fault befall a run, and end; the error of the run, if it has one."""
        limited = self.fault.passes and self.moment.limited
        run = asyncio.ensure_future(self.run(session, LIMIT if limited else 0))
        if self.moment.waits:
            await self.scene.until(lambda seen: seen.steps > 0 or run.done(), self.victim)
        await turns(self.moment.turns[0])
        await self.fault.befalls(self.scene, self.moment.task)
        if self.fault.passes and not limited:
            await turns(self.moment.turns[1])
            await self.fault.ends(self.scene, self.moment.task)
            if self.moment.waits:
                await session.run(self.put)
        await asyncio.wait([run])
        if not self.fault.passes or limited:
            await self.fault.ends(self.scene, self.moment.task)
        error = run.exception()
        if error is None:
            return None
        assert isinstance(error, DeadlineExceededError if limited else UnavailableError), error
        if not limited:
            assert not self.fault.passes
            assert error.task == self.victim
        assert self.victim in error.message
        return error

    async def found(self, session: AsyncSession, error: OpError | None) -> list[Any]:
        """What the variables are after a fault; it and the queue have what they had before the run or after."""
        lost = (await session.reattach(restore=self.model.reset)).lost
        now = await session.run([variable for variable, _ in self.model.variables])
        for (variable, _), value, one in zip(self.model.variables, now, self.added, strict=True):
            possible: list[Any] = [0.0] if variable.op.name in lost else [one] if error is None else [0.0, one]
            assert any(np.allclose(value, p, rtol=1e-3, atol=1e-3) for p in possible), (variable.name, value, possible)
        # With its master a run loses the word that it has ended, or that its values have arrived.
        sizes = {int(error is not None and not self.moment.waits)}
        if self.victim == W0 and not (self.moment.waits or self.fault.passes):
            sizes = {0, 1}
        assert await session.run(self.size) in sizes
        return now


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", FAULTS)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipe=graphs(12), counted=counted, moment=moments, seed=st.integers(0, 2**32))
def test_a_run_that_a_fault_befalls_gives_its_answer_or_one_error_and_the_next_one_its_answer(
    name: str, recipe: Recipe, counted: tuple[tuple[int, int], ...], moment: Moment, seed: int
) -> None:
    model = Model(recipe, Checks((), counted), TASKS)

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await Play(Scene(cluster), FAULTS[name], moment, recipe, model).play()

    SimulatedCluster(seed, {"worker": 2}).run(main)
