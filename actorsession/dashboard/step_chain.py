"""What a step that was not traced consists of in time: its transfers, and the chain of parts that ended last.

A ``StepRecord`` has the times of parts on devices and of the ends of transfers, and not of nodes. The chain is
followed from the end: a part that waited has waited for the last value that came, so the time before belongs to
that value's way and to the part that sent it. A part that did not wait has worked since its begin. What a partial
run waits for is often its client: from a fetch that it has got to the next feed.
``observe.critical_path`` does the same for a traced step, node by node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
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
# The other end of what the client of a partial run feeds and fetches.
_CLIENT = "client"
# Transfers that are followed; a loop over two devices has as many as iterations.
_FOLLOWED = 200


def transfers_of(transfers: Iterable[TransferStats]) -> list[dict[str, Any]]:
    """Return the transfers with both ends, in the order in which they were seen first.

    What a partial run is fed comes from its client, and what is fetched goes there, whichever device its key names.
    """
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
                "source": _CLIENT if parsed.edge_name.startswith("feed_") else parsed.src_device,
                "target": _CLIENT if parsed.edge_name.startswith("fetch_") else parsed.dst_device,
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
    seen = transfers_of(record.transfers)
    fetched = [t for t in seen if t["target"] == _CLIENT and t["source"] in parts and t["sent"] is not None]
    crossings = [t for t in seen if t["received"] is not None and (t["sent"] is not None or t["source"] == _CLIENT)]
    # A part ends a moment after it has sent its last value, which the end of the step does not wait for.
    sending = {crossing["source"] for crossing in crossings}
    last = [part for part in parts.values() if part.device not in sending] or parts.values()
    if fetched:
        last = [parts[max(fetched, key=_sent)["source"]]]
    now = max(last, key=lambda part: part.ended)
    planned, edge = _Planned(plan), ""

    def worked(began: float, ended: float, awaited: str, sent: str) -> dict[str, Any]:
        later = [c["edge"] for c in crossings if c["target"] == now.device and c["received"] > ended]
        return _work(now.device, planned.between(now.device, awaited, sent, later), began, ended)

    ended, chain = now.ended, list[dict[str, Any]]()
    for _ in range(_FOLLOWED):
        crossing = _last_awaited(now, ended, crossings)
        if crossing is None or crossing["source"] not in (_CLIENT, *parts):
            break
        arrived = crossing["received"]
        chain.append(worked(arrived, ended, crossing["edge"], edge))
        if crossing["source"] == _CLIENT:
            before = max([fetch for fetch in fetched if _sent(fetch) < arrived], key=_sent, default=None)
            since = min(now.began, arrived) if before is None else _sent(before)
            chain.append(_piece("wait", _CLIENT, f"until {tensor(crossing['edge'])} is fed", since, arrived))
            ended = since
            if before is None:
                break
            now, edge = parts[before["source"]], before["edge"]
            continue
        where = f"{crossing['source']} to {now.device}"
        sent = min(crossing["sent"], arrived)  # clocks of two hosts differ
        chain.append(_piece("wire", where, tensor(crossing["edge"]), sent, arrived))
        now, ended, edge = parts[crossing["source"]], sent, crossing["edge"]
    began = min(now.began, ended)
    chain.append(worked(began, ended, "", edge))
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
    return max(arrived, key=lambda c: (c["received"], c["sent"] or 0.0), default=None)


def _sent(crossing: Mapping[str, Any]) -> float:
    sent: float = crossing["sent"]
    return sent


def _piece(kind: str, where: str, what: str, began: float, ended: float) -> dict[str, Any]:
    return {"kind": kind, "where": where, "what": what, "began": began, "ended": ended}


class _Planned:
    """The nodes of a plan, with who reads whom.

    Args:
        plan: the explanation of the plan.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._nodes = {node["name"]: node for node in plan.get("nodes", ())}
        self._of_device: defaultdict[str, list[str]] = defaultdict(list)
        for part in plan.get("partitions", ()):
            self._of_device[part["device"]] += [name for name in part["nodes"] if name in self._nodes]
        self._readers: defaultdict[str, list[str]] = defaultdict(list)
        for name, node in self._nodes.items():
            for read in node.get("inputs", ()):
                self._readers[read].append(name)

    def between(self, device: str, awaited: str, sent: str, later: Collection[str]) -> list[Mapping[str, Any]]:
        """Return the nodes of a device that can have run in a time, the dearest first.

        Args:
            device: the device.
            awaited: the edge whose value came when the time began; empty if nothing was awaited.
            sent: that whose value was sent when it ended; empty at the end of the step.
            later: those whose values came after it.
        """
        own, not_yet = self._of_device[device], self._behind(later)
        names = [name for name in own if name not in not_yet] or own
        after = self._behind([awaited]) if awaited else ()
        # Of values that came together another may have been awaited: what is sent then is not computed of this one.
        if not sent or tensor(sent).removeprefix("^").partition(":")[0] in after:
            names = [name for name in names if name in after] or names
        return sorted([self._nodes[name] for name in names], key=lambda node: node["seconds"], reverse=True)

    def _behind(self, edges: Iterable[str]) -> set[str]:
        """Return the nodes that read some values, and all that read theirs."""
        behind: set[str] = set()
        waiting = [name for edge in edges for name in self._readers.get(tensor(edge), ())]
        while waiting:
            name = waiting.pop()
            if name not in behind:
                behind.add(name)
                outputs = range(len(self._nodes[name].get("outputs", ())))
                values = [f"^{name}", *[f"{name}:{index}" for index in outputs]]
                waiting += [reader for value in values for reader in self._readers.get(value, ())]
        return behind


def _work(device: str, nodes: Sequence[Mapping[str, Any]], began: float, ended: float) -> dict[str, Any]:
    """Return the piece in which a device has worked, with the node that explains its time, or else some nodes."""
    if nodes and nodes[0]["seconds"] >= _EXPLAINED * (ended - began):
        what = f"{nodes[0]['name']} ({nodes[0]['op']}) [{nodes[0]['line']}]"
        what += f", the dearest of {len(nodes)} nodes" if len(nodes) > 1 else ""
    else:
        what = ", ".join(node["name"] for node in nodes[:_NAMED])
        what += f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    return _piece("work", device, what, began, ended)
