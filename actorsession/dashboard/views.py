"""What the page is told: plain values for JSON, made of what tasks have answered.

Pure functions; ``docs/observability.md`` shows the page, and ``DashboardServer`` has the path of each. Times
are wall-clock seconds, durations seconds, sizes bytes, and what is unknown is ``None``. Ids of steps are text,
because those of a browser's numbers end at 2^53. Nothing is escaped here: all names and texts are those of
users and peers, and the page shows them as text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from actorsession.cluster.server.memory import TaskVariable
from actorsession.cluster.server.statistics import CLIENT
from actorsession.config.step_record import ErrorRecord
from actorsession.dashboard.poller import UP, ClusterPoller, TaskState
from actorsession.runtime.hang_report import HangReport, StuckStep
from actorsession.runtime.inspection import ArraySummary, NodeRow, QueueRow

__all__ = [
    "cluster_view", "error_view", "graph_view", "queue_view", "sessions_view", "summary_view", "variable_view",
    "why_view",
]  # fmt: skip

# Links of one task and characters of one text in an answer.
_LINKS = 200
_TEXT = 2000


def known(value: float) -> float | None:
    """Return a number, or ``None`` for one that is not known or has no form in JSON."""
    return value if math.isfinite(value) else None


# -- tasks and sessions ----------------------------------------------------------------------------


def cluster_view(name: str, poller: ClusterPoller, now: float, started: float) -> dict[str, Any]:
    """Return the tasks of a cluster.

    Args:
        name: the name of the cluster.
        poller: knows its tasks.
        now: the time.
        started: when the server of the page was started.
    """
    states = list(poller.tasks.values())
    versions = {s.statistics.version for s in states if s.statistics is not None and s.state == UP}
    return {
        "name": name,
        "cluster_id": poller.cluster_id,
        "now": now,
        "started": started,
        "interval": poller.interval,
        "tasks": [_task_view(state, versions) for state in states],
    }


def _task_view(state: TaskState, versions: Iterable[str]) -> dict[str, Any]:
    seen, sample = state.statistics, state.sample
    out: dict[str, Any] = {
        "task": state.task,
        "address": state.link.address,
        "state": state.state,
        "fault": state.fault[:_TEXT],
        "round_trip": state.link.round_trip,
    }
    if seen is None:
        return out
    types = {device.name: device.device_type for device in state.devices}
    return {
        **out,
        "pid": seen.pid,
        "version": seen.version,
        "uptime": seen.uptime,
        "cpu": known(sample.cpu),
        "memory": seen.memory,
        "peak_memory": seen.peak_memory,
        "steps": sum(session.steps for session in seen.open_sessions),
        "waiting": seen.waiting,
        "runs": seen.runs,
        "rate": known(sample.rate),
        "whole_rate": known(state.whole_rate),
        "latency": {"p50": known(sample.p50), "p99": known(sample.p99)},
        "errors": sum(seen.errors.values()),
        "restarts": seen.restarts,
        "loop_lag": seen.loop_lag,
        "devices": [
            {
                "name": device.device,
                "type": types.get(device.device, ""),
                "partitions": device.begun,
                "running": device.running,
                "kernel_seconds": device.seconds,
            }
            for device in seen.devices
        ],
        "links": [
            {
                "peer": link.peer,
                "address": link.address,
                "bytes_sent": link.bytes_sent,
                "bytes_received": link.bytes_received,
                "waiting": link.waiting,
                "unsent": link.send_buffer,
            }
            for link in sorted(seen.links, key=lambda link: (link.peer == CLIENT, link.peer))[:_LINKS]
        ],
        "snapshot_age": seen.snapshot_age if seen.snapshot_every > 0 else None,
        "findings": seen.findings(versions) if state.state == UP else [],
    }


def sessions_view(states: Iterable[TaskState]) -> list[dict[str, Any]]:
    """Return the sessions whose masters are at tasks."""
    return [
        {
            "handle": one.session_handle,
            "name": one.name,
            "client": one.client,
            "task": state.task,
            "steps": one.steps,
            "waiting": one.waiting,
            "runs": one.runs,
            "partial_runs": one.partial_runs,
            "nodes": one.nodes,
        }
        for state in states
        if state.statistics is not None and state.state == UP
        for one in state.statistics.open_sessions
    ]


# -- graphs, variables, queues ---------------------------------------------------------------------


def graph_view(rows: Iterable[NodeRow], total: int, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the nodes of a session's graph.

    Args:
        rows: the nodes.
        total: how many there are, with those that are left out.
        seconds: how long nodes take, as far as that is known.
    """
    nodes = [
        {
            "name": row.name,
            "op": row.op,
            "device": row.device,
            "inputs": list(row.inputs),
            "shape": None if row.shape is None else list(row.shape),
            "dtype": row.dtype,
            "line": row.line,
            "reason": row.reason,
            "seconds": seconds.get(row.name),
        }
        for row in rows
    ]
    return {"nodes": nodes, "more": max(0, total - len(nodes))}


def variable_view(task: str, row: TaskVariable) -> dict[str, Any]:
    """Return a variable of a task."""
    return {
        "name": row.name,
        "task": task,
        "device": row.device,
        "container": row.container,
        "session": row.session,
        "shape": None if row.shape is None else list(row.shape),
        "dtype": row.dtype,
        "bytes": row.nbytes,
        "initialised": row.initialised,
    }


def queue_view(task: str, row: QueueRow) -> dict[str, Any]:
    """Return a queue of a task; one without a limit has no capacity."""
    return {**row.to_wire(), "task": task, "capacity": row.capacity if row.capacity >= 0 else None}


def summary_view(summary: ArraySummary) -> dict[str, Any]:
    """Return the distribution of a variable."""
    return {
        "shape": list(summary.shape),
        "dtype": summary.dtype,
        "bytes": summary.nbytes,
        "histogram": {"bounds": list(summary.bounds), "counts": list(summary.counts)},
        "min": summary.least,
        "max": summary.most,
        "mean": summary.mean,
        "deviation": summary.deviation,
        "zeros": summary.zeros,
        "nans": summary.nans,
        "infinite": summary.infinite,
    }


# -- errors, and what steps wait for ---------------------------------------------------------------------------


def error_view(record: ErrorRecord) -> dict[str, Any]:
    """Return an error that a task remembers."""
    return {
        "when": record.when,
        "code": record.code,
        "message": record.message,
        "task": record.task,
        "session": record.session,
        "step_id": str(record.step_id) if record.step_id else "",
        "subject": record.subject,
    }


def why_view(report: HangReport, now: float) -> dict[str, Any]:
    """Return what steps wait for, and the root cause.

    Args:
        report: the report on the steps of all tasks.
        now: the time.
    """
    return {
        "text": str(report),
        "waits": [wait for step in report.steps for wait in _waits(step, now)],
        "cause": [str(cause) for step in report.steps for cause in step.causes],
        "silent": list(report.silent),
        "edges": [list(edge) for edge in dict.fromkeys(report.edges())],
    }


def _waits(step: StuckStep, now: float) -> Iterable[dict[str, Any]]:
    """Yield what the nodes of a step wait for, and the kernels that run or wait for a thread."""
    for part in step.tasks:
        about = {"step": str(step.step_id), "session": step.session, "task": part.task}
        for waiter in part.waiters:
            more = f" and {waiter.more_nodes} more" if waiter.more_nodes else ""
            for key in waiter.keys:
                yield {
                    **about,
                    "node": f"{', '.join(waiter.nodes)}{more}",
                    "device": waiter.device,
                    "for": "a value",
                    "key": key,
                    "since": now - part.seconds,
                }
        for kernel in part.kernels:
            yield {
                **about,
                "node": kernel.node,
                "device": kernel.device,
                "for": f"{kernel.op} {kernel.state}",
                "key": "",
                "line": kernel.source,
                "since": now - kernel.seconds,
            }
