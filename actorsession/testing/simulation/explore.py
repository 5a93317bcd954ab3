"""Many stories: each seed is performed and checked, and a story that fails is shortened while it still does.

Called by ``scripts/simulate`` and by tests. A run is a function of its story alone, so a seed is all that has to be
kept of it, or the text of a shortened story.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from actorsession.drawing.text import device_label
from actorsession.observe.events import Event, event, naming, region
from actorsession.records import dataclass
from actorsession.session.graph_mutation_warnings import GraphGrowthWarning
from actorsession.testing.simulation.checks import Finding, check
from actorsession.testing.simulation.faults import Schedule
from actorsession.testing.simulation.history import History, client_host
from actorsession.testing.simulation.story import Performance, Story

__all__ = ["Report", "explore", "play", "shorten", "trace"]

T = TypeVar("T")

# Seeds that a process takes at a time, and how often it does: caches and scattered memory grow by 1 to 4 MB a story.
_AT_ONCE, _TIMES = 20, 10
# The first lane of faults, below those of operations.
_FAULTS = 1000
# The check that a story fails which does not come to its end.
_BROKEN = "the end"


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a story.

    Attributes:
        story: the story.
        findings: what was wrong.
        steps: how many operations there were, those included that followed from others.
        faults: how many faults struck.
        digest: a text that two runs have in common if they were the same.
        seconds: processor time.
    """

    story: Story
    findings: Sequence[Finding]
    steps: int
    faults: int
    digest: str
    seconds: float

    @property
    def failed(self) -> frozenset[str]:
        """The names of the checks that it did not meet."""
        return frozenset([finding.check for finding in self.findings])


def play(story: Story) -> tuple[Report, Performance]:
    """Perform a story and check what came of it; an error of the performance itself is a finding."""
    began = time.process_time()
    performance = Performance(story)
    history = performance.history
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphGrowthWarning)  # as clients extend their graphs between runs
            performance.run(Performance.perform)
        findings = check(history)
    except Exception as error:
        findings = [Finding(_BROKEN, "".join(traceback.format_exception(error)))]
    seconds = time.process_time() - began
    digest = performance.loop.digest()
    return Report(story, findings, len(history.records), len(history.disturbances), digest, seconds), performance


def _play_seeds(seeds: Sequence[int], steps: int, before: Callable[[], object] | None) -> list[Report]:
    if before is not None:
        before()
    return [play(Story.draw(seed, steps))[0] for seed in seeds]


def explore(
    seeds: Sequence[int], steps: int, *, processes: int, seconds: float, before: Callable[[], object] | None = None
) -> Iterator[Report]:
    """Play the stories of many seeds in several processes, and yield each report as it comes.

    Args:
        seeds: the seeds.
        steps: the operations of each story.
        processes: how many processes.
        seconds: when to begin no more.
        before: called in each process before its stories, such as for a planted defect.
    """
    end = time.monotonic() + seconds
    groups = (seeds[first : first + _AT_ONCE] for first in range(0, len(seeds), _AT_ONCE))
    with ProcessPoolExecutor(processes, get_context("spawn"), max_tasks_per_child=_TIMES) as pool:
        under_way: set[Future[list[Report]]] = set()
        while True:
            new = islice(groups, 2 * processes - len(under_way)) if time.monotonic() < end else ()
            under_way |= {pool.submit(_play_seeds, group, steps, before) for group in new}
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield from future.result()


# -- stories that fail -------------------------------------------------------------------------------
def shorten(story: Story, checks: frozenset[str], most: int = 400) -> Story:
    """Take faults, then operations away from a story while it still fails one of some checks.

    Args:
        story: a story that fails.
        checks: the names of the checks that it fails.
        most: how many stories are performed at most.
    """
    left = most

    def fails(shorter: Story) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and not checks.isdisjoint(play(shorter)[0].failed)

    faults = _shortened(story.faults.faults, lambda some: fails(replace(story, faults=Schedule(some))))
    story = replace(story, faults=Schedule(faults))
    operations = _shortened(story.operations, lambda some: fails(replace(story, operations=some)))
    return replace(story, operations=operations)


def _shortened(items: Sequence[T], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return some of the items for which ``fails`` still holds: halves are taken away, then ever smaller parts."""
    kept, size = tuple(items), max(1, len(items) // 2)
    while kept:
        first = 0
        while first < len(kept):
            fewer = kept[:first] + kept[first + size :]
            if fails(fewer):
                kept = fewer
            else:
                first += size
        if size == 1:
            break
        size //= 2
    return kept


# -- the trace ---------------------------------------------------------------------------------------
def trace(performance: Performance) -> dict[str, Any]:
    """Return what happened in a performance, in the JSON form that Perfetto opens.

    Each client is a process with its operations, a lane for each; each task is one with what disturbed it. What the
    simulation has noted is in a process of its own.
    """
    history = performance.history
    clients = sorted({record.operation.client for record in history.records})
    pids = {name: pid for pid, name in enumerate([*map(client_host, clients), *history.tasks], start=1)}
    events = [naming("process_name", pid, device_label(name)) for name, pid in pids.items()]
    end = performance.loop.now
    events += _operations(history, pids, end)
    events += _disturbances(history, pids, end)
    events.append(naming("process_name", len(pids) + 1, "simulation"))
    for line in performance.loop.trace:
        when, _, what = line.partition(" ")
        events.append(_instant(what, len(pids) + 1, float(when)))
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"seed": performance.story.seed}}


def _operations(history: History, pids: dict[str, int], end: float) -> Iterator[Event]:
    for record in history.records:
        operation = record.operation
        args = {"operation": str(operation), "outcome": record.outcome.value, "error": str(record.error or "")}
        lane, ended = (pids[client_host(operation.client)], operation.lane + 1), min(record.ended, end)
        yield _span("operation", operation.kind, lane, record.began, ended, args)


def _disturbances(history: History, pids: dict[str, int], end: float) -> Iterator[Event]:
    busy: defaultdict[int, list[float]] = defaultdict(list)  # until when, by process and lane
    for disturbance in sorted(history.disturbances, key=lambda each: each.began):
        began, ended = disturbance.began, min(disturbance.ended, end)
        for host in disturbance.hosts:
            pid = pids.get(host, 0)
            lanes = busy[pid]
            # A viewer drops what overlaps in part: those of one time are in several lanes.
            lane = next((k for k, until in enumerate(lanes) if until <= began), len(lanes))
            lanes[lane : lane + 1] = [ended]
            yield _instant(disturbance.what, pid, began)
            yield _span("fault", disturbance.what, (pid, _FAULTS + lane), began, ended, {})


def _span(category: str, name: str, lane: tuple[int, int], began: float, ended: float, args: dict[str, Any]) -> Event:
    """Return a span whose ends are whole nanoseconds: those that adjoin overlap by nothing."""
    first, last = round(began * 1e9), round(ended * 1e9)
    return region(category, name, *lane, first / 1000, (last - first) / 1000, args)


def _instant(what: str, pid: int, when: float) -> Event:
    return event("i", "note", what, pid, 0, when * 1e6) | {"s": "p"}
