"""Build order of the nodes of a file, and the error message for a cycle."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from actorsession.graph.control_flow_ops import is_back_edge
from actorsession.interop.import_plan import Planned

__all__ = ["in_order"]


def in_order(planned: Sequence[Planned], cut: Iterable[tuple[str, int]] = ()) -> list[Planned]:
    """Return the nodes with producers before consumers, otherwise in the order of the file.

    A Merge comes before the NextIteration that it reads, because that edge is the back edge of a loop.

    Args:
        planned: the nodes.
        cut: node and output index (-1 for a control input) of edges that are replaced by outside tensors.

    Raises:
        ValueError: if some nodes form a cycle.
    """
    elsewhere = set(cut)
    place = {node.name: at for at, node in enumerate(planned)}
    waits = [0] * len(planned)
    readers: dict[int, list[int]] = {}
    for at, node in enumerate(planned):
        before = {
            place[name]
            for name, index in node.inputs
            if (name, index) not in elsewhere and not is_back_edge(node.type, planned[place[name]].type)
        }
        before |= {place[name] for name in node.control if (name, -1) not in elsewhere}
        waits[at] = len(before)
        for producer in before:
            readers.setdefault(producer, []).append(at)
    ready = [at for at, count in enumerate(waits) if count == 0]
    heapq.heapify(ready)
    ordered = []
    while ready:
        at = heapq.heappop(ready)
        ordered.append(planned[at])
        for reader in readers.get(at, ()):
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, reader)
    if len(ordered) < len(planned):
        raise ValueError(_cycle_words([planned[at] for at, count in enumerate(waits) if count]))
    return ordered


def _cycle_words(left: Sequence[Planned]) -> str:
    """Return the error message for one cycle among nodes that all wait for another of them."""
    by_name = {node.name: node for node in left}
    seen: dict[str, None] = {}
    node = left[0]
    while node.name not in seen:
        seen[node.name] = None
        producers = [*[name for name, _ in node.inputs], *node.control]
        node = by_name[next(name for name in producers if name in by_name)]
    names = list(seen)
    cycle = names[names.index(node.name) :]
    return f"{len(cycle)} nodes form a cycle: {' <- '.join([*cycle[:8], '...'][: len(cycle)])}"
