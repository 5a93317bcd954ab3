"""What one step moved between processes, told from its statistics.

Owns ``step_traffic``. Called by users and the demo; imports ``config`` and ``plan.keys``.

Nothing is measured here: the messages of a step follow from where its parts ran and which tensors
crossed from one task to another. ``session.statistics().link`` measures the way between client and master.
"""

from __future__ import annotations

from dataclasses import dataclass

from actorsession.config import StepStats
from actorsession.plan.keys import parse_key

__all__ = ["StepTraffic", "step_traffic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTraffic:
    """What one step moved between processes.

    Attributes:
        tasks: how many tasks ran a part of the step.
        tensors: how many tensors went from one task to another.
        tensor_bytes: bytes of their elements; names, framing and heartbeats are not counted, nor are
            feeds and fetches.
        calls: messages of the step's control, replies included: between client and master, and
            between master and the other tasks.
    """

    tasks: int
    tensors: int
    tensor_bytes: int
    calls: int

    @property
    def messages(self) -> int:
        """At most so many messages: tensors for one task that are ready together share one."""
        return self.calls + self.tensors


def step_traffic(stats: StepStats, master: str = "") -> StepTraffic:
    """Tells what a step moved between processes.

    Args:
        stats: of a run with ``RunOptions.trace_level`` set.
        master: task of the session's master, such as ``/job:worker/replica:0/task:0``, whose own part
            needs no message; "" for a session without one (target ""), which sends none at all.

    Returns:
        The counts. A call is ``RunStep`` or ``RunGraph``, each with its reply: one between client and
        master, one for every task but the master's. Transfers between devices of one task move
        nothing.
    """
    tasks = {node.device.rpartition("/device:")[0] for node in stats.nodes}
    tasks |= {transfer.device.rpartition("/device:")[0] for transfer in stats.transfers}
    crossing = [t for t in stats.transfers if t.kind == "send" and _crosses(t.key)]
    return StepTraffic(
        tasks=len(tasks),
        tensors=len(crossing),
        tensor_bytes=sum(transfer.nbytes for transfer in crossing),
        calls=2 * (1 + len(tasks - {master})) if master else 0,
    )


def _crosses(text: str) -> bool:
    key = parse_key(text)
    return key.src_task != key.dst_task
