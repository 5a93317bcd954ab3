"""What a step that was not traced consists of in time: its transfers, and the chain of parts that ended last.

A ``StepRecord`` has the times of parts on devices and of the ends of transfers, and not of nodes. The chain is
followed from the end: a part that waited has waited for the last value that came, so the time before belongs to
that value's way and to the part that sent it. A part that did not wait has worked since its begin.
``observe.critical_path`` does the same for a traced step, node by node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from actorsession.config.stats import TransferStats
from actorsession.config.step_record import PartRecord, StepRecord
from actorsession.errors import InvalidArgumentError
from actorsession.plan.rendezvous_key import parse_key

__all__ = ["critical_parts", "transfers_of"]

# Share of the time of a part up to which it has not waited for anything that matters.
_LEAST_WAIT = 0.02
# Transfers that are followed; a loop over two devices has as many as iterations.
_FOLLOWED = 200


def transfers_of(transfers: Iterable[TransferStats]) -> list[dict[str, Any]]:
    """Return the transfers of both ends, in the order in which they were seen first."""
    ends: defaultdict[str, dict[str, TransferStats]] = defaultdict(dict)
    for transfer in sorted(transfers, key=lambda transfer: transfer.time):
        ends[transfer.key].setdefault(transfer.kind, transfer)
    rows = []
    for key, by_kind in ends.items():
        try:
            parsed = parse_key(key)
        except InvalidArgumentError:  # of a peer
            continue
        sent, received = by_kind.get("send"), by_kind.get("recv")
        rows.append(
            {
                "key": key,
                "edge": parsed.edge_name,
                "source": parsed.src_device,
                "target": parsed.dst_device,
                "bytes": max(end.nbytes for end in by_kind.values()),
                "sent": None if sent is None else sent.time,
                "received": None if received is None else received.time,
            }
        )
    return rows


def critical_parts(record: StepRecord, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the chain of work and transfers that ended last, in the order of time; none while the step runs.

    Args:
        record: the step, merged over the tasks.
        plan: the explanation of its plan, which names the node that is expected to take the longest on a device.
    """
    parts = {part.device: part for part in record.parts if part.ended}
    if record.is_running or not parts:
        return []
    crossings = [t for t in transfers_of(record.transfers) if t["sent"] is not None and t["received"] is not None]
    # A part ends a moment after it has sent its last value, which the end of the step does not wait for.
    sending = {crossing["source"] for crossing in crossings}
    last = [part for part in parts.values() if part.device not in sending] or parts.values()
    now = max(last, key=lambda part: part.ended)
    ended, chain = now.ended, list[dict[str, Any]]()
    for _ in range(_FOLLOWED):
        crossing = _last_awaited(now, ended, crossings)
        if crossing is None or crossing["source"] not in parts:
            break
        arrived = crossing["received"]
        chain.append(_piece("work", now.device, _dearest(now.device, plan), arrived, ended))
        where = f"{crossing['source']} to {now.device}"
        sent = min(crossing["sent"], arrived)  # clocks of two hosts differ
        chain.append(_piece("wire", where, crossing["edge"], sent, arrived))
        now, ended = parts[crossing["source"]], sent
    began = min(now.began, ended)
    chain.append(_piece("work", now.device, _dearest(now.device, plan), began, ended))
    if record.began < began:
        chain.append(_piece("queue", record.task, "until its first part begins", record.began, began))
    return chain[::-1]


def _last_awaited(part: PartRecord, ended: float, crossings: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the last transfer that a part has waited for until a time."""
    if part.waited <= _LEAST_WAIT * (ended - part.began):
        return None
    arrived = [c for c in crossings if c["target"] == part.device and part.began < c["received"] <= ended]
    # Of those that came together, the one that was sent last.
    return max(arrived, key=lambda c: (c["received"], c["sent"]), default=None)


def _piece(kind: str, where: str, what: str, began: float, ended: float) -> dict[str, Any]:
    return {"kind": kind, "where": where, "what": what, "began": began, "ended": ended}


def _dearest(device: str, plan: Mapping[str, Any]) -> str:
    """Return the node of a device that is expected to take the longest, in words; "" if that is unknown."""
    names = next((part["nodes"] for part in plan.get("partitions", ()) if part["device"] == device), ())
    nodes = [node for node in plan.get("nodes", ()) if node["name"] in set(names)]
    if not nodes:
        return ""
    dearest = max(nodes, key=lambda node: node["seconds"])
    of = f", the dearest of {len(nodes)} nodes" if len(nodes) > 1 else ""
    return f"{dearest['name']} ({dearest['op']}) [{dearest['line']}]{of}"
