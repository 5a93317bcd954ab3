"""Loads a graph on devices of this process without a session, for tests of the runtime alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from actorsession import Graph, Operation, Tensor
from actorsession.extend import DeviceSet, RunSignature
from actorsession.graph.device import LOCAL_TASK
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.runtime.devices import make_devices
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.loaded_graph import LoadedGraph


class Loaded:
    """A graph's plan for some fetches, on ``devices`` CPU devices."""

    def __init__(
        self,
        graph: Graph,
        fetches: Sequence[Tensor],
        feeds: Sequence[Tensor] = (),
        targets: Sequence[Operation] = (),
        devices: int = 1,
    ) -> None:
        self.devices = make_devices(LOCAL_TASK, {"CPU": devices})
        self.device_set = DeviceSet([d.attributes for d in self.devices])
        self.executors = {d.name: Executor(d) for d in self.devices}
        nodes = [op.plain for op in graph.get_operations()]
        placer = Placer(self.device_set)
        placer.place(nodes)
        signature = RunSignature(
            tuple(t.name for t in feeds), tuple(t.name for t in fetches), tuple(op.name for op in targets)
        )
        step_graph = prune(GraphView(nodes), signature)
        placed = placer.placed
        client = self.device_set.client_device
        device_of = {n: placed[n].device if n in placed else client for n in step_graph.nodes}
        self.parts = partition(step_graph, device_of, self.device_set)
        self.states: dict[str, dict[str, Any]] = {}
        self.graph = LoadedGraph(self.parts, self.executors, self.states)
        self.fetches = len(fetches)

    def run_once(self) -> Sequence[Any]:
        """Runs a plan without feeds that is a single call."""
        assert self.graph.inline is not None
        return self.graph.inline.run([], Gate())


async def turns_until(condition: Callable[[], bool], turns: int = 1000) -> None:
    """Gives the loop turns until a condition holds; fails when it does not come to hold."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"the condition does not hold after {turns} turns of the loop")
