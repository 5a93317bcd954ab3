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
from actorsession.runtime.hang_report_format import tensor

__all__ = ["critical_parts", "transfers_of"]

# Share of the time of a part up to which it has not waited for anything that matters.
_LEAST_WAIT = 0.02
# Share of a time that the estimate of a node must reach to be its reason, and nodes that are named where none does.
_EXPLAINED, _NAMED = 0.1, 4
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
        chain.append(_work(now.device, plan, arrived, ended))
        where = f"{crossing['source']} to {now.device}"
        sent = min(crossing["sent"], arrived)  # clocks of two hosts differ
        chain.append(_piece("wire", where, tensor(crossing["edge"]), sent, arrived))
        now, ended = parts[crossing["source"]], sent
    began = min(now.began, ended)
    chain.append(_work(now.device, plan, began, ended))
    if record.began < began:
        chain.append(_piece("queue", record.task, "until its first part begins", record.began, began))
    return chain[::-1]


def _last_awaited(part: PartRecord, ended: float, crossings: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the last transfer that a part has waited for until a time, if only to begin."""
    moment = _LEAST_WAIT * (ended - part.began)
    # The first value for a part travels with the message that begins it.
    until = ended if part.waited > moment else part.began + moment
    arrived = [c for c in crossings if c["target"] == part.device and part.began - moment <= c["received"] <= until]
    # Of those that came together, the one that was sent last.
    return max(arrived, key=lambda c: (c["received"], c["sent"]), default=None)


def _piece(kind: str, where: str, what: str, began: float, ended: float) -> dict[str, Any]:
    return {"kind": kind, "where": where, "what": what, "began": began, "ended": ended}


def _work(device: str, plan: Mapping[str, Any], began: float, ended: float) -> dict[str, Any]:
    """Return the piece in which a device has worked, with the node that explains its time, or else some nodes."""
    names = {name for part in plan.get("partitions", ()) if part["device"] == device for name in part["nodes"]}
    nodes = sorted((n for n in plan.get("nodes", ()) if n["name"] in names), key=lambda n: n["seconds"], reverse=True)
    if nodes and nodes[0]["seconds"] >= _EXPLAINED * (ended - began):
        what = f"{nodes[0]['name']} ({nodes[0]['op']}) [{nodes[0]['line']}]"
        what += f", the dearest of {len(nodes)} nodes" if len(nodes) > 1 else ""
    else:
        what = ", ".join(node["name"] for node in nodes[:_NAMED])
        what += f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return _piece("work", device, what, began, ended)
