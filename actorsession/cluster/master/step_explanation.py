"""The explanation of a step by its master: the plan, and what the tasks of the step know.

The tasks are asked which variables have no value, a few times, because the time of an answer is that of the link.
A task that does not answer is part of the explanation. ``SessionPlans`` calls this; nothing is registered and no
state changes.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.cluster.master.membership import Membership
from actorsession.cluster.master.session_graph import SessionGraph
from actorsession.errors import OpError
from actorsession.graph.device import device_task
from actorsession.graph.node import NodeDef
from actorsession.messages.session import ExplainStep, StepExplained
from actorsession.messages.worker import AskVariables
from actorsession.plan.cost_model import CostModel
from actorsession.plan.explain.explain import Circumstances, PlannedStep, explain, feeds_from_wire
from actorsession.plan.signature import RunSignature
from actorsession.runtime.resources import place_of
from transports.host import current_host

__all__ = ["explain_step"]

T = TypeVar("T")

# Seconds in which a task answers. It is asked a few times, because a question may have to wait for what the loop
# does, but not again when that has taken so many seconds.
_ASK = 2.0
_TIMES = 5
_LONG = 0.2
# To explain a plan takes some times as long as to make it; see ``Planning.must_wait``.
_EFFORT = 4


class _Plan(Protocol):
    """Does work on the graph of a session, in a thread if there are many nodes."""

    def __call__(self, nodes: float, work: Callable[[], T]) -> Awaitable[T]: ...


async def explain_step(
    message: ExplainStep,
    graph: SessionGraph,
    membership: Membership,
    model: CostModel | None,
    plan: _Plan,
    deadline: Deadline,
) -> StepExplained:
    """Return what a step would do.

    Args:
        message: what is asked.
        graph: of the session.
        membership: the tasks of the session.
        model: its measured costs, if it has a cost model.
        plan: does work on the graph.
        deadline: of the call.

    Raises:
        InvalidArgumentError: if the request is malformed.
    """
    feeds = feeds_from_wire(message.feeds, message.types)
    signature = RunSignature(tuple(feeds), tuple(message.fetches), tuple(message.targets))
    size = graph.size + signature.size
    step = await plan(size, lambda: graph.planned(signature, feeds))
    known = await _circumstances(step, membership, model or CostModel(), deadline.within(_ASK))
    return StepExplained(explanation=await plan(_EFFORT * size, lambda: explain(step, known).to_json()))


async def _circumstances(
    step: PlannedStep, membership: Membership, model: CostModel, deadline: Deadline
) -> Circumstances:
    """Return what the tasks of a step know."""
    variables: dict[str, list[tuple[str, NodeDef]]] = {task: [] for task in step.tasks}
    for node, device in step.variables_read():
        variables[device_task(device)].append((device, node))
    members, home = membership.members.by_task, membership.cluster.task
    asks = {task: _asked(task, held, membership, deadline) for task, held in variables.items() if task in members}
    answers = dict(zip(asks, await asyncio.gather(*asks.values()), strict=True))
    absent = {task: membership.missing.get(task, "it has left") for task in variables if task not in asks}
    trips = {task: answer for task, (answer, _) in answers.items() if isinstance(answer, float)}
    return Circumstances(
        model=model,
        own_fetches=False,
        home=home,
        round_trips={task: seconds for task, seconds in trips.items() if task != home},
        silent={**absent, **{task: answer for task, (answer, _) in answers.items() if isinstance(answer, str)}},
        unset=frozenset([name for _, unset in answers.values() for name in unset]),
    )


async def _asked(
    task: str, variables: Sequence[tuple[str, NodeDef]], membership: Membership, deadline: Deadline
) -> tuple[float | str, list[str]]:
    """Return the seconds of a round trip to a task, or its error, and which variables have no value there."""
    places = [[device, *place_of(node)] for device, node in variables]
    message = AskVariables(session_handle=membership.cluster.handle, variables=places)
    least, asked = math.inf, current_host().clock.perf_counter()
    for _ in range(_TIMES):
        began = current_host().clock.perf_counter()
        if began - asked > _LONG:
            break
        try:
            answer = await membership.members.workers[task].ask(message, deadline)
        except OpError as error:
            return error.message, []
        least = min(least, current_host().clock.perf_counter() - began)
    return least, [node.name for (_, node), valued in zip(variables, answer.valued, strict=True) if not valued]
