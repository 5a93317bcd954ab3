"""The wait-for graph of the steps of a session in this process.

Direct sessions call it, from any thread. A step in one process waits only for other devices of the process,
for threads and for feeds of a partial run.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step_inspector import Stacks, held_pool, inline_kernels, step_waits, what_became_of
from actorsession.runtime.wait_graph import SentKey, StepWaits, TaskWaits

__all__ = ["MOST", "local_wait_graph"]

MOST = 50
"""Most steps, and most waiters per step, in a report."""
# Most values that are followed per step.
_FOLLOWED = 2000


def local_wait_graph(steps: Sequence[Step], task: str, gate: Gate, pools: Sequence[KernelPool] = ()) -> TaskWaits:
    """Return what steps of this process wait for.

    Args:
        steps: the steps under way.
        task: the task name of this process.
        gate: of the session; lists the kernels that run without a step.
        pools: of the session.
    """
    stacks = Stacks()
    oldest = sorted(steps, key=lambda s: s.since)[:MOST]
    waiting = [step_waits(step, stacks, MOST, task=task) for step in oldest]
    keys: list[SentKey] = []
    for step, waits in zip(oldest, waiting, strict=True):
        keys += _follow(step, waits, stacks)
    return TaskWaits(
        task=task,
        steps=tuple(waiting),
        more_steps=len(steps) - len(oldest),
        keys=tuple(keys),
        kernels=inline_kernels(stacks, gate),
        pools=tuple([h for pool in pools if (h := held_pool(pool, task)) is not None]),
    )


def _follow(step: Step, waits: StepWaits, stacks: Stacks) -> list[SentKey]:
    """Return the state of the values that a step waits for, and of those that these wait for."""
    known: dict[str, SentKey] = {}
    asked = [key for waiter in waits.waiters for key in waiter.keys]
    while asked and len(known) < _FOLLOWED:
        new = what_became_of(step, list(dict.fromkeys(asked)), stacks)
        known.update({sent.key: sent for sent in new})
        asked = [key for sent in new for key in sent.keys if key not in known]
    return list(known.values())
