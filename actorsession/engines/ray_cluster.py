"""``RayCluster``: a cluster whose tasks are actors of Ray.

Each task is an actor whose process hosts our ``Server``. A placement group reserves what all first tasks
need, so that either all of them have a place or none has. The driver's Ray job owns actors and group: Ray
ends them when the driver ends or is killed. Imports Ray when a cluster is started.

Ray restarts no actor by itself: an actor that came back would have no server until its cluster gave it the
addresses of the others, and two that restart would not agree on the limit. The cluster makes a new actor in
the task's bundle, which Ray places on another node if that of the former is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from actorsession.actors.deadline import Deadline
from actorsession.engines.engine_cluster import EngineCluster
from actorsession.engines.launcher import TaskFate, TaskOrder
from actorsession.engines.task_host import TaskHost
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorsession.extras import require

__all__ = ["RayCluster"]

Strategy = Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
_STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
# Our words, which are those of ``ray.remote``, for the keys of a bundle.
_BUNDLE_KEYS = {"num_cpus": "CPU", "num_gpus": "GPU"}
# Seconds for an actor to answer whether its server runs, and to be ended, beyond the grace of the server.
_ANSWER = 5.0
# Actors that are tried where they die before they run: Ray notices the loss of a node after some 15 s, and
# until then places what is to replace a task on that very node.
_PLACES = 3
# Seconds for Ray to find out whether an actor that it cannot reach is dead, and between two questions.
_CERTAIN, _AGAIN = 10.0, 0.25
# Characters of an error of Ray.
_LONGEST = 1000


class RayCluster(EngineCluster):
    """A cluster whose tasks are Ray actors; has the interface of ``LocalCluster``.

    Works inside an existing ``ray.init`` or Ray job, and connects otherwise.

    Args:
        jobs: number of tasks of each job, such as ``{"ps": 1, "worker": 8}``.
        address: the Ray cluster, if this process is not connected to one; as for ``ray.init``.
        resources: by job what Ray reserves for each of its tasks: ``num_cpus`` (1 if left out),
            ``num_gpus``, ``memory`` in bytes, and custom resources by their names.
        strategy: how Ray spreads the tasks over nodes, as for its placement groups.
        init: other arguments of ``ray.init``, such as ``runtime_env``, if this process is not connected.
        **settings: those of ``EngineCluster``.

    Raises:
        InvalidArgumentError: for an unknown strategy.
        ValueError: for invalid jobs or resources; see ``EngineCluster``.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        address: str | None = None,
        resources: Mapping[str, Mapping[str, float]] | None = None,
        strategy: Strategy = "PACK",
        init: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        if strategy not in _STRATEGIES:
            raise InvalidArgumentError(
                f"a strategy of Ray's placement groups is one of {', '.join(_STRATEGIES)}; got {strategy!r:.100}"
            )
        launcher = _RayLauncher(strategy, {"address": address, **(init or {})})
        super().__init__(launcher, jobs, resources=resources, **settings)


class _RayLauncher:
    """Places tasks as actors."""

    engine = "Ray"

    def __init__(self, strategy: str, init: Mapping[str, Any]) -> None:
        self._strategy = strategy
        self._init = init
        self._connected = False  # by this object
        self._group: Any = None
        self._lock = threading.Lock()  # a call that nobody waits for any more goes on in its thread
        self._closed = False
        self._bundles: dict[str, int] = {}

    async def open(self, orders: Sequence[TaskOrder], deadline: Deadline) -> None:
        """Connect to Ray, and reserve a bundle for each task."""
        require("ray", "ray", "a RayCluster needs Ray")
        await asyncio.to_thread(self._connect)
        bundles: list[dict[str, float]] = []
        for order in orders:
            bundle = _bundle(order)
            if bundle:  # Ray has no empty ones
                self._bundles[order.task] = len(bundles)
                bundles.append(bundle)
        if not bundles:
            return
        await asyncio.to_thread(self._reserve, bundles)
        asked = ", ".join(f"{order.task}: {_bundle(order)}" for order in orders)
        await _reserved(self._group.ready(), deadline, f"{asked}; strategy {self._strategy}")

    def _connect(self) -> None:
        import ray

        if ray.is_initialized():
            return
        with self._held():
            try:
                ray.init(**self._init)
            except Exception as error:  # what Ray raises if its processes do not start in time
                address = self._init["address"]
                where = f"there is no Ray cluster at {address}" if address else "Ray does not start here"
                raise UnavailableError(f"{where}: {error}") from error
            self._connected = True

    def _reserve(self, bundles: list[dict[str, float]]) -> None:
        from ray.util import placement_group

        with self._held():
            self._group = placement_group(bundles, strategy=self._strategy)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Get something inside the block that ``close`` gives back, which may come before or afterwards."""
        with self._lock:
            if self._closed:
                raise UnavailableError("the cluster was stopped while it was being started")
            yield

    async def place(self, order: TaskOrder, deadline: Deadline) -> _RayPlacement:
        """Start an actor with the server of a task."""
        asked = f"{order.task}: {_bundle(order)}"
        for left in reversed(range(_PLACES)):
            actor = await asyncio.to_thread(self._new_actor, order)
            reached = False
            try:
                await _reserved(actor.node.remote(), deadline, asked)
                reached = True
                address, node = await deadline.wait(
                    _answer(actor.start.remote(order)), what=f"the server of {order.task} in a Ray actor"
                )
            except BaseException as error:
                _kill(actor)
                if isinstance(error, (OpError, asyncio.CancelledError)):
                    raise
                if left and not reached and _is_lost(error):
                    continue
                raise UnavailableError(
                    f"the Ray actor of {order.task} did not come up: {_told(error)}", task=order.task
                ) from error
            break
        return _RayPlacement(actor, address, node)

    def _new_actor(self, order: TaskOrder) -> Any:
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        strategy: Any = "SPREAD" if "SPREAD" in self._strategy else "DEFAULT"
        if order.task in self._bundles:  # one that was added later has none
            strategy = PlacementGroupSchedulingStrategy(self._group, self._bundles[order.task])
        amounts = {"num_cpus": 1.0, **order.resources}
        named = {key: amounts.pop(key) for key in ("num_cpus", "num_gpus", "memory") if key in amounts}
        remote: Any = ray.remote(_RayTask)
        return remote.options(
            **named, resources=amounts, scheduling_strategy=strategy, max_restarts=0, max_task_retries=0
        ).remote()

    async def close(self) -> None:
        """Give the bundles back, and disconnect if this object has connected."""
        await asyncio.to_thread(self._give_back)

    def _give_back(self) -> None:
        with self._lock:
            self._closed = True
            group, self._group = self._group, None
            connected, self._connected = self._connected, False
        if group is not None or connected:
            _disconnect(group, connected=connected)

    def close_now(self) -> None:
        """Do nothing: Ray takes the bundles back when this process has ended."""


class _RayTask:
    """The actor of one task."""

    def __init__(self) -> None:
        self._host: TaskHost | None = None

    async def node(self) -> str:
        """Return the address of the actor's node."""
        import ray

        return str(ray.util.get_node_ip_address())

    async def start(self, order: TaskOrder) -> tuple[str, str]:
        """Serve the task; return its address and the node."""
        node = await self.node()
        self._host = TaskHost(order, node)
        return await self._host.start(), node

    async def is_serving(self) -> bool:
        """Return whether the server runs."""
        return self._host is not None and self._host.serving

    async def log(self) -> list[str]:
        """Return the last lines of the log."""
        return [] if self._host is None else list(self._host.log())

    async def stop(self, grace: float) -> str:
        """Stop the server, and return what is lost with it."""
        return "" if self._host is None else await self._host.stop(grace)


class _RayPlacement:
    """One task that is an actor."""

    def __init__(self, actor: Any, address: str, node: str) -> None:
        self._actor = actor
        self.address = address
        self.node = node

    async def end(self, grace: float) -> str | None:
        """Stop the server, then kill the actor."""
        lost: str | None = None
        if grace:
            limit = Deadline.after(grace + _ANSWER)
            stopping = _answer(self._actor.stop.remote(grace))
            with contextlib.suppress(Exception):  # whatever it is, the kill comes next
                lost = await limit.wait(stopping, what="the end of a server in a Ray actor")
        await asyncio.to_thread(_kill, self._actor)
        return lost

    def end_now(self) -> None:
        """Kill the actor."""
        _kill(self._actor)

    async def fate(self) -> TaskFate:
        """Ask the actor whether its server runs; if it is dead, Ray says why."""
        from ray.exceptions import ActorUnavailableError

        limit = Deadline.after(_CERTAIN)
        while True:
            try:
                serving = await _answer(self._actor.is_serving.remote())
            except Exception as error:
                # Ray has lost its own connection and does not know yet whether the actor is dead.
                unknown = isinstance(error, ActorUnavailableError)
                if unknown and not limit.expired:
                    await asyncio.sleep(_AGAIN)
                    continue
                return TaskFate(clean=False, how=f"Ray says: {_told(error)}", ended=not unknown)
            if serving:
                how = "its server runs in its Ray actor and does not answer"
                return TaskFate(clean=False, how=how, ended=False)
            return TaskFate(clean=True, how="its server was asked to stop")

    async def log(self) -> Sequence[str]:
        """Return the last lines of the actor's log, if it is alive."""
        with contextlib.suppress(Exception):
            lines: list[str] = await _answer(self._actor.log.remote())
            return lines
        return ()


def _bundle(order: TaskOrder) -> dict[str, float]:
    """Return what Ray reserves for a task, by Ray's keys."""
    amounts = {"num_cpus": 1.0, **order.resources}
    return {_BUNDLE_KEYS.get(key, key): amount for key, amount in amounts.items() if amount}


async def _answer(reference: Any) -> Any:
    """Return the answer of an actor, whose reference is no coroutine."""
    return await reference


async def _reserved(reference: Any, deadline: Deadline, asked: str) -> None:
    """Wait until Ray has a place for something.

    Raises:
        ResourceExhaustedError: if it has none in time; says what was asked and what there is.
    """
    try:
        await deadline.wait(_answer(reference), what="a place on the Ray cluster")
    except DeadlineExceededError:
        import ray

        there, free = await asyncio.to_thread(
            lambda: (_amounts(ray.cluster_resources()), _amounts(ray.available_resources()))
        )
        raise ResourceExhaustedError(
            f"Ray has no place in time for {asked}. The cluster has {there}, of which {free} are free; "
            "ask for less with resources=, or wait longer with start_timeout="
        ) from None


def _amounts(amounts: Mapping[str, float]) -> str:
    """Return the resources of a Ray cluster as text, without those that stand for nodes and groups."""
    shown = {k: v for k, v in sorted(amounts.items()) if ":" not in k and "_group_" not in k}
    return ", ".join(f"{key} {amount:g}" for key, amount in shown.items()) or "nothing"


def _is_lost(error: BaseException) -> bool:
    """Return whether an error of Ray says that an actor has died, whose own code has not failed."""
    from ray.exceptions import ActorDiedError

    return isinstance(error, ActorDiedError)


def _told(error: BaseException) -> str:
    """Return an error of Ray in one line; the traceback of an actor's own error is left out."""
    cause = getattr(error, "cause", None) or error
    text = " ".join(f"{type(cause).__name__}: {cause}".split())
    return text.partition(" Some common causes")[0][:_LONGEST]


def _kill(actor: Any) -> None:
    import ray

    # Ray may be disconnected by now, which has ended the actor.
    with contextlib.suppress(Exception):
        ray.kill(actor)


def _disconnect(group: Any, *, connected: bool) -> None:
    import ray
    from ray.util import remove_placement_group

    if group is not None:
        with contextlib.suppress(Exception):  # likewise
            remove_placement_group(group)
    if connected:
        ray.shutdown()
