"""Options of runs that watch, and what they saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import actorsession as acts
from actorsession import GraphDef, RunOptions
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import OpError

__all__ = ["BREAK", "debug_sink", "hearing", "registered", "seen", "watch", "watch_all"]


def watch(*nodes: str, slot: int = 0, **more: Any) -> RunOptions:
    """Options that watch nodes; what is no field of a watch is one of the options."""
    own = ("debug_ops", "debug_urls", "tolerate_debug_op_creation_failures")
    of_watch = {k: more.pop(k) for k in own if k in more}
    watches = [DebugTensorWatch(node_name=n, output_slot=slot, **of_watch) for n in nodes]
    return RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=watches, **more))


def watch_all(**more: Any) -> RunOptions:
    """Options that watch every output of every node."""
    return watch("*", slot=-1, **more)


BREAK = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf"))


def seen(session: Any) -> dict[str, Any]:
    """The values that were dumped, by their watch keys."""
    return {d.watch_key: d.value.tolist() for d in session.session.debug_dumps()}


@contextmanager
def registered(registry: Any, factory: Any) -> Iterator[None]:
    """A factory is the one of a registry while the block lasts."""
    before = registry.register_factory(factory)
    try:
        yield
    finally:
        registry.register_factory(before)


@contextmanager
def debug_sink(name: str, take: Callable[[acts.debugging.DebugDump], object]) -> Iterator[str]:
    """A function is a debug sink while the block lasts; yields its URL."""
    acts.debugging.register_debug_sink(name, take)
    try:
        yield f"sink://{name}"
    finally:
        acts.debugging.unregister_debug_sink(name)


class Recorder(acts.debugging.DebuggerState):
    """Notes all that it hears."""

    def __init__(self, heard: list[Any]) -> None:
        self.heard = heard

    def publish_debug_metadata(
        self, step: int, run: int, executor: int, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> None:
        self.heard.append(("run", step, run, executor, (*feeds, *fetches, *targets)))

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        self.heard.append(("graph", device, [n.name for n in graph_def.nodes]))

    def publish_tensor(self, dump: acts.debugging.DebugDump, debug_urls: Sequence[str]) -> None:
        self.heard.append(("tensor", dump.device_name, dump.watch_key, *debug_urls))

    def publish_end(self, error: OpError | None) -> None:
        self.heard.append(("end", error and error.message))


@contextmanager
def hearing() -> Iterator[list[Any]]:
    """What a user's own state hears of debugged runs while the block lasts."""
    found: list[Any] = []
    with registered(acts.debugging.DebuggerStateRegistry, lambda options: Recorder(found)):
        yield found
