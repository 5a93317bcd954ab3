"""The text of a ``HangReport``: first the root cause, then each step, task by task.

``hang_report`` calls it, and the page names tensors as it does. Long lists are shortened, with the number of omitted
entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from actorsession.plan.rendezvous_key import parse_key
from actorsession.runtime.wait_graph import HELD, UNBEGUN
from actorsession.terminal_text import visible

if TYPE_CHECKING:
    from actorsession.runtime.hang_report import Cause, HangReport, StuckStep
    from actorsession.runtime.wait_graph import KernelNow, StepWaits

__all__ = ["format_cause", "format_report", "tensor"]

# Steps, and waiters and kernels of each partition, in the text; the report itself has more.
_STEPS = 10
_ROWS = 5


def format_cause(cause: Cause) -> str:
    """Return one cause as a sentence, without the full stop."""
    said = _VERDICTS.get(cause.kind, _moment)(cause)
    return visible(said if cause.kind == "circle" else f"{said}{_way(cause)}")


def _runs(cause: Cause) -> str:
    return f"{_kernel(cause)} has been running on {cause.device or cause.task} for {cause.seconds:.3g} s"


def _queued(cause: Cause) -> str:
    where = cause.device or cause.task
    why = f": {cause.reason}" if cause.reason else ""
    return f"{_kernel(cause)} waits on {where} for a free thread of the kernel pool{why}"


def _suspended(cause: Cause) -> str:
    return (
        f"{_kernel(cause)} has waited on {cause.device or cause.task} for {cause.seconds:.3g} s for what "
        "comes from outside its step"
    )


def _lost(cause: Cause) -> str:
    key = parse_key(cause.chain[-1])
    end = "whose part of the step has ended" if cause.reason == "over" else "which has run that far"
    return (
        f"a value was lost: {tensor(key.edge_name)} was sent from {key.src_device} to {key.dst_device} "
        f"and has not arrived (key {key.text}); {cause.task}, {end}, does not send it again"
    )


def _collective(cause: Cause) -> str:
    return str(cause.collectives[0])


def _circle(cause: Cause) -> str:
    if cause.collectives:
        waits = ", and ".join(map(str, cause.collectives))
        return f"members of collectives wait for each other in a circle: {waits}"
    edges = [parse_key(key) for key in cause.chain]
    names = " waits for ".join(f"{tensor(e.edge_name)} of {e.src_device}" for e in edges)
    return f"values wait for each other in a circle: {names}"


def _silent(cause: Cause) -> str:
    return f"{cause.task} does not answer: {cause.reason or 'nothing was heard of it'}"


def _held(cause: Cause) -> str:
    return f"{cause.task} holds the step back until {cause.link or 'another task'} reads what was sent to it"


def _unfed(cause: Cause) -> str:
    return f"the partial run was not fed {cause.node} yet"


def _unbegun(cause: Cause) -> str:
    return f"{cause.task} has not begun its part of the step"


def _moment(cause: Cause) -> str:
    return f"{cause.node or 'something'} on {cause.task} is about to run"


_VERDICTS = {
    "runs": _runs,
    "queued": _queued,
    "suspended": _suspended,
    "lost": _lost,
    "circle": _circle,
    "collective": _collective,
    "silent": _silent,
    "held": _held,
    "unfed": _unfed,
    "unbegun": _unbegun,
}


def tensor(edge: str) -> str:
    """Return the tensor of an edge name such as ``edge_3_add:0``; ``^add`` is a control edge."""
    parts = edge.split("_", 2)
    return parts[2] if len(parts) == 3 and parts[0] in ("edge", "feed", "fetch") else edge


def _kernel(kernel: Cause | KernelNow) -> str:
    op = f" ({kernel.op})" if kernel.op else ""
    where = f" [{kernel.source}]" if kernel.source else ""
    return f"{kernel.node!r}{op}{where}"


def _way(cause: Cause) -> str:
    """Return the text on the nodes that wait for a cause."""
    if not cause.chain:
        return ""
    first = parse_key(cause.chain[0])
    nodes = ", ".join(repr(name) for name in cause.waiters[:2])
    hops = len(cause.chain) + cause.more_chain - 1
    over = f", over {hops} value{'s' * (hops > 1)} between" if hops else ""
    what = tensor(first.edge_name)
    return f"; {nodes or 'a node'} on {first.dst_device} waits for {what}{over}"


def format_report(why: HangReport) -> str:
    """Return the text of a report; the first line is the root cause."""
    return "\n".join(map(visible, _lines(why)))


def _lines(why: HangReport) -> Iterator[str]:
    yield _headline(why)
    for task, reason in why.silent.items():
        yield f"does not answer: {task}: {reason}"
    for master in why.masters:
        if master.waiting:
            yield (
                f"session {master.session}: {master.waiting} steps wait until fewer than "
                f"{master.in_flight} are in flight"
            )
        for tasks in master.registering:
            yield f"session {master.session}: a graph is being registered at {', '.join(tasks)}"
    if why.waiting:
        yield f"{why.waiting} runs wait in this process until fewer are in flight"
    for step in why.steps[:_STEPS]:
        yield from _step(step)
    left = max(0, len(why.steps) - _STEPS) + why.more_steps
    if left:
        yield f"{left} more steps are left out"
    for pool in why.pools:
        yield f"{pool.task or 'this process'}: {pool}"
    if why.kernels:
        yield "runs that need no step:"
        yield from _kernels(why.kernels, 0)


def _headline(why: HangReport) -> str:
    root = why.root
    if root is not None:
        text = str(root)
        return text[0].upper() + text[1:] + "."
    if why.silent:
        return f"{', '.join(why.silent)}: no answer."
    if why.kernels:
        kernel = why.kernels[0]
        return f"{_kernel(kernel)} has been running on {kernel.device} for {kernel.seconds:.3g} s."
    if why.steps and all(step.moves for step in why.steps):
        return "The steps under way move; none of them hangs."
    if why.steps:
        return "Nothing waits for a value or for a kernel; ask again if it stays so."
    if why.waiting or any(m.waiting or m.registering for m in why.masters):
        return "No step is under way; some wait to begin."
    return "No step is under way."


def _step(step: StuckStep) -> Iterator[str]:
    of = f" of session {step.session}" if step.session else ""
    if step.moves:
        yield f"step {step.step_id}{of}, under way for {step.seconds:.3g} s: it moves"
        return
    if step.partial is not None:
        run = step.partial
        yield f"partial run {run.handle!r} (step {step.step_id}{of}), idle for {run.seconds:.3g} s:"
        calls = f"calls: {run.calls}, waiting: {run.waiting}"
        yield f"  not fed: {_some(run.feeds)}; not fetched: {_some(run.fetches)}; {calls}"
    else:
        yield f"step {step.step_id}{of}, under way for {step.seconds:.3g} s:"
    for cause in step.causes:
        yield f"  cause: {cause}"
    if step.more_causes:
        yield f"  {step.more_causes} more causes are left out"
    if step.unfinished:
        yield f"  tasks whose part has not ended: {', '.join(step.unfinished)}"
    for part in step.tasks:
        yield from _part(part)


def _part(part: StepWaits) -> Iterator[str]:
    if part.state == HELD:
        yield f"  {part.task}: held until {part.link} reads"
        return
    if part.state == UNBEGUN:
        yield f"  {part.task}: has not begun it; values have come"
        return
    yield f"  {part.task or 'this process'}: {part.unfinished} groups of nodes have not run"
    for waiter in part.waiters[:_ROWS]:
        names = ", ".join(repr(name) for name in waiter.nodes)
        beside = f" and {waiter.more_nodes} more" if waiter.more_nodes else ""
        keys = [parse_key(key) for key in waiter.keys]
        awaited = ", ".join(f"{tensor(k.edge_name)} from {k.src_device}" for k in keys)
        others = f" and {waiter.more_keys} more" if waiter.more_keys else ""
        yield f"    {names}{beside} on {waiter.device} wait for {awaited}{others}"
    left = max(0, len(part.waiters) - _ROWS) + part.more_waiters
    if left:
        yield f"    {left} more groups of nodes that wait are left out"
    yield from _kernels(part.kernels, part.more_kernels)


def _kernels(kernels: Sequence[KernelNow], more: int) -> Iterator[str]:
    for kernel in kernels[:_ROWS]:
        does = {"queued": "has waited for a thread", "suspended": "has waited for what comes"}.get(
            kernel.state, "has been running"
        )
        yield f"    {_kernel(kernel)} {does} on {kernel.device} for {kernel.seconds:.3g} s"
    left = max(0, len(kernels) - _ROWS) + more
    if left:
        yield f"    {left} more kernels are left out"


def _some(names: Sequence[str]) -> str:
    beside = f" and {len(names) - _ROWS} more" if len(names) > _ROWS else ""
    return (", ".join(names[:_ROWS]) or "nothing") + beside
