"""A step as the page draws it: its parts on devices, what they sent each other, and where its time went.

Pure functions of a ``StepRecord``, merged over the tasks, and of the ``Explanation`` of its plan, as ``views``
are of other answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actorsession.config.step_record import StepRecord
from actorsession.dashboard.step_chain import critical_parts, transfers_of
from actorsession.graph.device import device_task
from actorsession.runtime.wait_graph import PartialWaits

__all__ = ["shifted", "step_row", "step_view"]


def shifted(record: StepRecord, seconds: float) -> StepRecord:
    """Return a record with so many seconds added to all its times, because the clock of its task is another."""
    if not seconds:
        return record
    parts = [replace(p, began=p.began + seconds, ended=p.ended and p.ended + seconds) for p in record.parts]
    transfers = [replace(transfer, time=transfer.time + seconds) for transfer in record.transfers]
    return replace(record, began=record.began + seconds, parts=tuple(parts), transfers=tuple(transfers))


def step_row(record: StepRecord) -> dict[str, Any]:
    """Return a step as a row of a list."""
    return {
        "key": f"{record.task}/{record.session}/{record.step_id}",
        "step_id": str(record.step_id),
        "session": record.session,
        "task": record.task,
        "kind": record.kind,
        "began": record.began,
        "took": record.took,
        "error": record.error,
        "feeds": list(record.feeds),
        "fetches": list(record.fetches),
        "parts": [
            {"device": part.device, "began": part.began, "ended": part.ended or None, "waited": part.waited}
            for part in record.parts
        ],
        "transfers": len({transfer.key for transfer in record.transfers}) + record.left_out,
        "trace_id": record.trace_id,
    }


def step_view(record: StepRecord, plan: Mapping[str, Any], partial: PartialWaits | None = None) -> dict[str, Any]:
    """Return one step with all that is known of it.

    Args:
        record: the step.
        plan: the explanation of its plan, as ``Explanation.to_json`` has it; empty if there is none.
        partial: what the partial run waits for, if it is one that is open.
    """
    return {
        **step_row(record),
        "partitions": _partitions(record, plan),
        "transfers": transfers_of(record.transfers),
        "left_out": record.left_out,
        "critical": critical_parts(record, plan),
        **_fed_and_fetched(record, partial),
    }


def _partitions(record: StepRecord, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the part on each device, also of those that have not begun, with the nodes that its plan has there."""
    parts = {part.device: part for part in record.parts}
    nodes = {node["name"]: node for node in plan.get("nodes", ())}
    planned = {part["device"]: part.get("nodes", ()) for part in plan.get("partitions", ())}
    rows = []
    for device in dict.fromkeys([*planned, *parts]):
        part = parts.get(device)
        rows.append(
            {
                "device": device,
                "task": device_task(device),
                "began": None if part is None else part.began,
                "ended": None if part is None else part.ended or None,
                "waited": None if part is None else part.waited,
                "nodes": [],
                "planned": [
                    {key: node[key] for key in ("name", "op", "line", "seconds", "known")}
                    for name in planned.get(device, ())
                    if (node := nodes.get(name)) is not None
                ],
            }
        )
    return rows


def _fed_and_fetched(record: StepRecord, partial: PartialWaits | None) -> dict[str, Any]:
    """Return when each feed was given and each fetch requested, ``None`` for those that were not yet.

    Empty for a partial run that is over, of which that is not known any more.
    """
    given = {} if partial is None else {**dict.fromkeys(partial.feeds), **partial.given}
    requested = {} if partial is None else {**dict.fromkeys(partial.fetches), **partial.requested}
    return {"fed": _moments(record, given), "fetched": _moments(record, requested)}


def _moments(record: StepRecord, after: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if seconds is None else record.began + seconds for name, seconds in after.items()}
