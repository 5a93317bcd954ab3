"""The stages of a step over workers, in order: where each happens, what may fail there, and who is told.

The table is what the code promises; ``docs/architecture.md`` shows it, and tests hold both to it.
"""

from __future__ import annotations

from actorsession.records import dataclass

__all__ = ["STAGES", "Stage", "stages_table"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a step.

    Attributes:
        at: whose process it happens in.
        calls: the calls that it is made of, in order.
        does: what it does.
        may_fail: what may fail there.
        told: who is told, and how.
    """

    at: str
    calls: tuple[str, ...]
    does: str
    may_fail: str
    told: str


STAGES = (
    Stage(
        "client",
        ("RemoteSteps.admit", "RemoteRun.begin"),
        "admits the run, numbers it, sends RunStep; the first run of a plan brings it along",
        "the session is closed, its master is lost, a feed cannot be encoded, its turn does not come",
        "the caller; nothing was sent",
    ),
    Stage(
        "master",
        ("Master.on_plan", "SessionSteps.program"),
        "makes the program of a plan that is new to the connection",
        "the session is not open, names or options are malformed",
        "the client, by `fail`",
    ),
    Stage(
        "master",
        ("Program.begin_later", "SessionPlans.acquire", "ClientGraphs.acquire"),
        "plans and registers, for a plan without a client graph, or after tasks have changed",
        "a node cannot be placed, a task refuses its partitions, is lost, or has restarted with state",
        "the client, by `fail`, with the variables that were lost",
    ),
    Stage(
        "master",
        ("MasterProgram.begin", "Share.enter_nowait"),
        "admits the step, or lets it wait its turn with its values as they came",
        "the limit of the run passes",
        "the client, by `fail`",
    ),
    Stage(
        "master",
        ("MasterStep.begin", "StepParts.begin_here", "StepParts.begin_there"),
        "begins the part of its own task by a call, then sends RunGraph to the others",
        "a link is lost, a feed cannot be passed on",
        "all tasks, by `CleanupGraph`; the client, by `fail`",
    ),
    Stage(
        "worker",
        ("PartSteps.begin", "StepGate.hold"),
        "begins its partitions, or holds the step while a link that it sends over is backlogged",
        "the graph was released, the session has ended, the number of feeds is another",
        "the master, by `fail`",
    ),
    Stage(
        "worker",
        ("Step.drain", "WorkerRendezvous.flush", "Pushes.push"),
        "runs what is ready, then pushes values to the tasks that wait for them",
        "a kernel fails; a value cannot be sent or its link is lost",
        "the master, by `fail`, with node, device, task and line; the receiver, by `CleanupGraph`",
    ),
    Stage(
        "worker",
        ("Worker.take_push", "RendezvousTable.push"),
        "takes values in, also before its part has begun",
        "a key is malformed; values of a step that is over come late",
        "the step here fails; late values are dropped",
    ),
    Stage(
        "worker",
        ("ServedRun.done",),
        "answers with the fetches of its part",
        "a fetch cannot be encoded",
        "the master, by `fail`, with the node",
    ),
    Stage(
        "master",
        ("StepParts.done", "MasterStep.fail"),
        "collects the parts; the first error that is not derived ends the step everywhere",
        "a part fails, is late, or its task is lost; the client cancels",
        "all tasks, by `cancel` and `CleanupGraph`; the client, by `fail`, unless it has cancelled",
    ),
    Stage(
        "client",
        ("RemoteRun.done", "RemoteRun.confirm"),
        "takes the values, and says that they have reached the caller where something was taken",
        "the caller has given the run up",
        "the master, by `cancel`: what was taken is put back",
    ),
)
"""The stages, in order."""


def stages_table() -> str:
    """Return the table as Markdown."""
    lines = ["| at | calls | what it does | what may fail | who is told |", "|---|---|---|---|---|"]
    for stage in STAGES:
        calls = ", ".join(f"`{call}`" for call in stage.calls)
        lines.append(f"| {stage.at} | {calls} | {stage.does} | {stage.may_fail} | {stage.told} |")
    return "\n".join(lines)
