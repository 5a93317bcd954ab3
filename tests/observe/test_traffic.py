"""What a step moved between processes, told from its statistics."""

from __future__ import annotations

from actorsession.config import NodeStats, StepStats, TransferStats
from actorsession.observe.traffic import step_traffic
from actorsession.plan.keys import build_key

PS = "/job:ps/replica:0/task:0"
WORKER = "/job:worker/replica:0/task:0"


def step(*transfers: tuple[str, str, int], runs_on: tuple[str, ...] = ()) -> StepStats:
    """A step with one tensor for each (source device, destination device, bytes)."""
    stats = StepStats(1, [NodeStats(d, "n", "Op", 0.0, 1.0, "MainThread", 0) for d in runs_on])
    for number, (src, dst, nbytes) in enumerate(transfers):
        key = build_key(src, 1, dst, f"edge_{number}")
        stats.transfers.append(TransferStats("send", key, src, 0.1, nbytes))
        stats.transfers.append(TransferStats("recv", key, dst, 0.2, nbytes))
    return stats


def cpu(task: str, number: int = 0) -> str:
    return f"{task}/device:CPU:{number}"


def test_tensors_between_tasks_are_counted_once_with_their_bytes() -> None:
    traffic = step_traffic(step((cpu(PS), cpu(WORKER), 400), (cpu(WORKER), cpu(PS), 24)), WORKER)
    assert (traffic.tensors, traffic.tensor_bytes) == (2, 424)


def test_tensors_between_devices_of_one_task_move_nothing() -> None:
    traffic = step_traffic(step((cpu(PS), cpu(PS, 1), 400)), PS)
    assert (traffic.tensors, traffic.tensor_bytes) == (0, 0)


def test_a_step_on_the_masters_task_alone_is_one_call_and_its_reply() -> None:
    traffic = step_traffic(step(runs_on=(cpu(WORKER),)), WORKER)
    assert (traffic.tasks, traffic.calls, traffic.messages) == (1, 2, 2)


def test_every_other_task_costs_a_call_and_its_reply() -> None:
    traffic = step_traffic(step((cpu(PS), cpu(WORKER), 8)), WORKER)
    assert (traffic.tasks, traffic.calls, traffic.messages) == (2, 4, 5)


def test_a_master_that_runs_no_part_is_called_all_the_same() -> None:
    traffic = step_traffic(step(runs_on=(cpu(PS),)), WORKER)
    assert (traffic.tasks, traffic.calls) == (1, 4)


def test_a_session_without_a_master_sends_no_message() -> None:
    traffic = step_traffic(step((cpu(PS), cpu(PS, 1), 8)))
    assert (traffic.calls, traffic.messages) == (0, 0)
