"""The review of a placement: after so many runs, whether nodes should have other devices by the cost model.

Implements ``placement_period``. A direct session and a master session with a cost model have a
``PlacementReview`` each, give it the runs of their plans, and move the nodes that it finds. Which devices a
node may have is decided here; what a step takes on them is computed by ``schedule``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actorsession.graph.dtypes import resource
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import lookup
from actorsession.plan.cost_model import CostModel
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partition import Partition
from actorsession.plan.place import Placed
from actorsession.plan.schedule import Rescheduled, Threads, Work, finish_time, reschedule, work_graph

__all__ = ["PlacementReview", "PlannedGraph"]

_log = logging.getLogger("actorsession.session")
# Most placement periods between two checks of the placement, when checks change nothing.
_MAX_GAP = 64
# A new placement must reduce the estimated time of all plans in use to less than this fraction.
_MARGIN = 0.8


class PlannedGraph(Protocol):
    """What the review reads of a plan."""

    @property
    def partitions(self) -> Sequence[Partition]:
        """The partitions of the plan."""


class PlacementReview:
    """The checks of the placement of one session.

    Callable from any thread; one check runs at a time.

    Args:
        period: runs of the session between two checks; 0 for none.
        model: the cost model of the session.
        dear: seconds above which a segment goes to the kernel pool.

    Attributes:
        moves: how many checks have moved nodes.
    """

    def __init__(self, period: int, model: CostModel, dear: float) -> None:
        self.period = period
        self.moves = 0
        self._model = model
        self._dear = dear
        self._recent: dict[int, tuple[PlannedGraph, int]] = {}  # plans run since the last check
        self._gap = period
        self._next: float = period
        self._last_run = 0

    def is_due(self, graph: PlannedGraph, number: int) -> bool:
        """Count a run and return whether a check is due; no other is due until that has ended.

        Args:
            graph: the plan that was run.
            number: the number of the run in the session, from 1.
        """
        if not self.period:
            return False
        _, runs = self._recent.get(id(graph), (graph, 0))
        self._recent[id(graph)] = graph, runs + 1
        if number < self._next:
            return False
        self._last_run = number
        if not self._model.steps:
            self._next = number + self._gap
            return False
        self._next = math.inf
        return True

    def check(
        self,
        known: Mapping[str, NodeDef],
        devices: DeviceSet,
        threads: Threads,
        move: Callable[[Mapping[str, Placed]], None],
        home: str | None = None,
    ) -> None:
        """Move nodes if that pays, by the runs since the last check.

        Args:
            known: the nodes of the session's graph.
            devices: the session's devices.
            threads: of the kernel pools; a task that is not among them gets no nodes.
            move: called with the nodes that move and their new devices.
            home: see ``finish_time``.
        """
        moved: Mapping[str, Placed] = {}
        try:
            moved = self._better(known, devices, threads, home)
            if moved:
                move(moved)
                self.moves += 1
                _log.info("%d nodes moved; %s", len(moved), next(iter(moved.values())).reason)
        finally:
            # Checking a large graph takes a while, so checks that change nothing become rarer.
            self._gap = self.period if moved else min(2 * self._gap, _MAX_GAP * self.period)
            self._next = self._last_run + self._gap

    def _better(
        self, known: Mapping[str, NodeDef], devices: DeviceSet, threads: Threads, home: str | None
    ) -> Mapping[str, Placed]:
        recent, self._recent = self._recent, {}
        candidates = _Candidates(known, devices, threads)
        steps = [(work_graph(graph.partitions, self._model, candidates), runs) for graph, runs in recent.values()]
        # The plan with the most work is scheduled; the others must not lose more than it gains.
        heaviest, _ = max(steps, key=_weight)
        names = list(candidates.present)
        rescheduled = reschedule(heaviest, names, threads=threads, dear=self._dear, home=home)
        if rescheduled is None or not self._pays(rescheduled, steps, threads, home):
            return {}
        reason = (
            f"cost model: a step is estimated to take {rescheduled.after * 1e3:.3g} ms in place of "
            f"{rescheduled.before * 1e3:.3g} ms"
        )
        return {name: Placed(device, reason) for name, device in rescheduled.devices.items()}

    def _pays(
        self, rescheduled: Rescheduled, steps: Sequence[tuple[dict[str, Work], int]], threads: Threads, home: str | None
    ) -> bool:
        before = after = 0.0
        for work, runs in steps:
            now = {name: piece.device for name, piece in work.items()}
            then = {name: rescheduled.devices.get(name, device) for name, device in now.items()}
            before += runs * finish_time(work, now, threads=threads, dear=self._dear, home=home)
            after += runs * finish_time(work, then, threads=threads, dear=self._dear, home=home)
        return after < before * _MARGIN


def _weight(step: tuple[dict[str, Work], int]) -> float:
    work, runs = step
    return runs * sum(piece.seconds for piece in work.values())


class _Candidates:
    """The devices that a node may move to: all of its type, if no user or colocation fixed its device."""

    def __init__(self, known: Mapping[str, NodeDef], devices: DeviceSet, threads: Threads) -> None:
        self._known = known
        self._devices = devices
        self.present = {
            name: spec
            # The client device first, as ``reschedule`` wants them.
            for name, spec in sorted(devices.specs.items(), key=lambda item: item[0] != devices.client_device)
            if isinstance(threads, int) or str(spec.task_spec) in threads
        }
        self._tied = {
            text.removeprefix("loc:@") for node in list(known.values()) for text in node.attrs.get("_class", ())
        }

    def __call__(self, node: NodeDef, device: str) -> list[str]:
        known = self._known.get(node.name)
        here = self._devices.specs.get(device)
        if known is None or here is None or not self._is_free(known):
            return [device]
        # Measurements on a device of one type say nothing about another type.
        alike = [n for n, spec in self.present.items() if spec.device_type == here.device_type]
        return [d for d in alike if self._devices.lacking(d, (node.op,)) is None]

    def _is_free(self, node: NodeDef) -> bool:
        if node.device or node.name in self._tied or node.attrs.get("_class"):
            return False
        if lookup(node.op).stateful or any(s.dtype is resource for s in node.outputs):
            return False
        return not any(self._known[p].outputs[i].dtype is resource for p, i in node.inputs)
