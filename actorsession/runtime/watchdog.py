"""The watchdog, which names kernels that held an event loop, each node once.

A loop that is held sends no heartbeats, handles no messages and runs no other step. A kernel holds the loop
if it runs there and takes longer than was estimated, or if it runs in the kernel pool and keeps the
interpreter lock. Executors report segments that took long, and servers report times in which their loop was
late. The two are matched here, in whichever order they are reported.

Called from the threads of loops and of kernel pools. Invariants: a node is named once, and the stored state
is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from actorsession.plan.cost import node_cost
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
    from actorsession.plan.codegen.segment import Segment

__all__ = ["HOLD_LIMIT", "Watchdog", "watchdog"]

HOLD_LIMIT = 0.05
"""Seconds for which a kernel may hold a loop without being named."""

_log = logging.getLogger("actorsession.runtime")

# Fraction of the time in which a loop was late for which a suspected kernel must have run.
_SHARE = 0.8
# Long segments and late moments that are kept to be matched; both are reported within moments.
_KEPT = 64
# Nodes that are remembered as named.
_REMEMBERED = 4096


class _Run(NamedTuple):
    """A segment that took long in the pool."""

    begin: float
    end: float
    linked: weakref.ref[BoundPartition]  # weak, because entries must not keep variables of a closed session
    segment: Segment


class Watchdog:
    """The matching of long segments with late loops; times are of the host's ``perf_counter``."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque(maxlen=_KEPT)
        self._late: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._named: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """Forget what was recorded, and which nodes were named."""
        self._runs.clear()
        self._late.clear()
        self._named.clear()

    def ran_inline(self, linked: BoundPartition, segment: BoundSegment, seconds: float) -> None:
        """Record a segment that took long in the calling thread; ignore it if the thread has no loop."""
        if asyncio._get_running_loop() is not None:
            self._name(linked, segment.segment, f"held the event loop for {seconds:.3g} s")

    def ran_in_pool(self, linked: BoundPartition, segment: BoundSegment, begin: float, end: float) -> None:
        """Record a segment that took long in the kernel pool."""
        run = _Run(begin, end, weakref.ref(linked), segment.segment)
        self._runs.append(run)
        for late in tuple(self._late):
            self._match(run, *late)

    def late(self, seconds: float) -> None:
        """Record that a loop was held for some time until now, for any reason."""
        if seconds <= HOLD_LIMIT:
            return
        end = current_host().clock.perf_counter()
        self._late.append((end - seconds, end))
        for run in tuple(self._runs):
            self._match(run, end - seconds, end)

    def _match(self, run: _Run, begin: float, end: float) -> None:
        linked = run.linked()
        if linked is None:
            return
        if min(run.end, end) - max(run.begin, begin) >= _SHARE * (end - begin):
            what = f"ran in the kernel pool, and the event loop was held for {end - begin:.3g} s of that"
            self._name(linked, run.segment, f"{what}: does it keep the interpreter lock?")

    def _name(self, linked: BoundPartition, segment: Segment, what: str) -> None:
        numbers = dict.fromkeys(n for n in segment.line_nodes if n is not None)
        compiled = linked.compiled
        costs = {
            number: node_cost(context.node, context.inputs)[0]
            for number in numbers
            if (context := compiled.contexts.get(number)) is not None
        }
        # The nodes of a segment are timed one by one only in a trace.
        dearest = sorted(numbers, key=lambda n: -costs.get(n, 0.0))
        if not dearest or len(self._named) >= _REMEMBERED:
            return
        key = (linked.device, compiled.nodes[dearest[0]].name)
        if key in self._named:
            return
        self._named.add(key)
        node = compiled.nodes[dearest[0]]
        name = f"{node.name!r} ({node.op})"
        if len(dearest) > 1:
            name += f", by estimate the dearest of {len(dearest)} nodes that run as one,"
        # A hint on speed, not a fault: commands omit it unless logging is requested.
        _log.warning("%s: %s %s", linked.device, name, what, extra={"hint": True})


def watchdog() -> Watchdog:
    """Return the watchdog of the process: all its work shares kernel pools and the interpreter lock."""
    return current_host().own(Watchdog)
