"""Trace events: the JSON objects that Perfetto and ``chrome://tracing`` read.

Each function makes one event as a plain dict. ``trace`` and ``timeline`` call them; times are microseconds.
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Event", "event", "naming", "region"]

Event: TypeAlias = dict[str, Any]


def event(phase: str, category: str, name: str, pid: int, tid: int, ts: float) -> Event:
    """Return an event of any kind; the caller adds the fields of that kind.

    Args:
        phase: the kind, one letter.
        category: by which viewers filter.
        name: the label in the viewer.
        pid: its process in the trace.
        tid: its lane there.
        ts: its time.
    """
    return {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts}


def naming(kind: str, pid: int, name: str, tid: int = 0) -> Event:
    """Return an event that gives a process (``process_name``) or a lane (``thread_name``) its name."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def region(category: str, name: str, pid: int, tid: int, ts: float, dur: float, args: dict[str, Any]) -> Event:
    """Return an event with a duration; a viewer shows ``args`` when the event is clicked."""
    return event("X", category, name, pid, tid, ts) | {"dur": dur, "args": args}
