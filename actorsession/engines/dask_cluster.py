"""``DaskCluster``: a cluster whose tasks live in the workers of a Dask cluster.

Each task is a server of ours in the process of a Dask worker, so it can be fed what lies in that worker
without a copy. Tasks are spread over the workers by what these offer as resources. Dask sees an actor for
each task: therefore it does not retire the worker, and it drops the actor, which ends the server, when the
client that asked for it is gone. Imports Dask when a cluster is started.

Everything is asked of the workers by ``Client.run``, on the event loop of the client, which may be another
one than ours. Unlike calls of Dask's actors, these fail at once if the worker is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from actorsession.actors.deadline import Deadline
from actorsession.engines.engine_cluster import EngineCluster
from actorsession.engines.launcher import TaskFate, TaskOrder
from actorsession.engines.task_host import TaskHost
from actorsession.errors import OpError, ResourceExhaustedError, UnavailableError
from actorsession.extras import require

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskCluster"]

T = TypeVar("T")

# Seconds between two looks for a worker that has what a task needs.
_LOOK = 0.2
# Seconds for a worker to answer, and to end a server beyond its grace.
_ANSWER = 5.0
_numbers = itertools.count()


class DaskCluster(EngineCluster):
    """A cluster whose tasks live in Dask workers; has the interface of ``LocalCluster``.

    Args:
        jobs: number of tasks of each job, such as ``{"ps": 1, "worker": 8}``.
        client: a client of the Dask cluster, synchronous or asynchronous, or the address of its scheduler. If
            left out, the current client of the program, or else a new Dask cluster of this machine, as
            ``distributed.Client()`` starts it.
        resources: by job what a Dask worker must offer for each of its tasks, in the words of ``dask worker
            --resources``, such as ``{"ps": {"MEMORY": 4e9}}``. Tasks that need nothing go where there are
            fewest.
        **settings: those of ``EngineCluster``.

    Raises:
        ValueError: for invalid jobs or resources; see ``EngineCluster``.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        client: Client | str | None = None,
        *,
        resources: Mapping[str, Mapping[str, float]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(_DaskLauncher(client), jobs, resources=resources, **settings)


class _DaskLauncher:
    """Places tasks in Dask workers."""

    engine = "Dask"

    def __init__(self, client: Client | str | None) -> None:
        self._given = client
        self._client: Any = None
        self._made = False  # by this object
        self._places: dict[str, tuple[str, TaskOrder]] = {}  # worker and order, by task

    async def open(self, orders: Sequence[TaskOrder], deadline: Deadline) -> None:
        """Find or make the client; places are found one by one."""
        require("distributed", "dask", "a DaskCluster needs Dask")
        import distributed

        given = self._given
        if given is None:
            with contextlib.suppress(ValueError):
                given = distributed.Client.current()
        if given is not None and not isinstance(given, str):
            self._client = given
            return
        try:
            self._client = await deadline.wait(_opened(given), what=f"the Dask scheduler at {given or 'this machine'}")
        except OSError as error:
            raise UnavailableError(f"there is no Dask scheduler at {given}: {error}") from error
        self._made = True

    async def ask(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Run a coroutine with the client on the client's loop."""
        loop = self._client.loop.asyncio_loop
        if loop is asyncio.get_running_loop():
            return await work(self._client)

        async def there() -> T:
            return await work(self._client)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), loop))

    async def workers(self) -> dict[str, dict[str, Any]]:
        """Return what the scheduler knows of its running workers, by address."""
        identity = await self.ask(lambda client: client.scheduler.identity())
        return {
            address: worker
            for address, worker in identity["workers"].items()
            if worker.get("status", "running") == "running"
        }

    async def call(self, worker: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in a worker, and return its answer.

        Raises:
            UnavailableError: if the worker is gone, for which Dask would wait half a minute.
            Exception: that of the function.
        """

        async def run(client: Any) -> Any:
            return await client.run(function, *args, workers=[worker], asynchronous=True)

        await self.check(worker)
        calling = asyncio.gather(self.ask(run))
        try:
            while not (await asyncio.wait({calling}, timeout=_LOOK))[0]:
                await self.check(worker)
            (answers,) = calling.result()
        finally:
            calling.cancel()
        return answers[worker]

    async def check(self, worker: str) -> None:
        """Check that a worker runs.

        Raises:
            UnavailableError: if it does not.
        """
        if worker not in await self.workers():
            raise UnavailableError(f"the Dask worker at {worker} is gone")

    async def place(self, order: TaskOrder, deadline: Deadline) -> _DaskPlacement:
        """Start the server of a task in a worker that has what it needs."""
        key = f"actorsession-{order.cluster_id}-{order.job}-{order.index}-{next(_numbers)}"
        while True:
            workers = await self.workers()
            worker = self._reserve(order, workers)
            if worker is not None:
                begun = self._begin(order, key, worker)
                try:
                    return await deadline.wait(begun, what=f"a server in Dask worker {worker}")
                except BaseException as error:
                    self.release(order.task)
                    await self._abandon(worker, key)
                    if not isinstance(error, Exception) or worker in await self.workers():
                        raise
            elif deadline.expired:
                raise ResourceExhaustedError(self._shortage(order, workers), task=order.task)
            await asyncio.sleep(_LOOK)

    async def _begin(self, order: TaskOrder, key: str, worker: str) -> _DaskPlacement:
        host = urlsplit(worker).hostname if worker.startswith(("tcp:", "tls:")) else None
        address, fault = await self.call(worker, _start, key, order, host or "127.0.0.1")
        if fault:
            raise UnavailableError(f"{order.task} did not come up in Dask worker {worker}: {fault}", task=order.task)

        async def hold(client: Any) -> Any:
            held = client.submit(_Holder, key, actor=True, workers=[worker], allow_other_workers=False, key=key)
            with client.as_current():  # to which the actor's own future belongs
                await client.gather(held, asynchronous=True)
            return held

        return _DaskPlacement(self, order.task, key, address, worker, await self.ask(hold))

    async def _abandon(self, worker: str, key: str) -> None:
        """End what was begun in a worker, if it is still there."""
        with contextlib.suppress(Exception):
            await Deadline.after(_ANSWER).wait(self.call(worker, _stop, key, 0.0), what="its end")

    def _reserve(self, order: TaskOrder, workers: Mapping[str, Mapping[str, Any]]) -> str | None:
        """Choose the worker for a task: of those that have what it needs, one with the fewest tasks.

        Those of its own job count first, so that each worker has one of them where there are enough workers.
        """
        tasks = Counter(worker for worker, _ in self._places.values())
        alike = Counter(w for w, there in self._places.values() if there.job == order.job)
        fitting = [worker for worker in workers if self._fits(order, worker, workers[worker])]
        if not fitting:
            return None
        worker = min(fitting, key=lambda name: (alike[name], tasks[name]))
        self._places[order.task] = worker, order
        return worker

    def _fits(self, order: TaskOrder, worker: str, known: Mapping[str, Any]) -> bool:
        offered = known.get("resources") or {}
        taken: Counter[str] = Counter()
        for where, there in self._places.values():
            if where == worker:
                taken.update(there.resources)
        return all(offered.get(name, 0) - taken[name] >= amount for name, amount in order.resources.items())

    def _shortage(self, order: TaskOrder, workers: Mapping[str, Mapping[str, Any]]) -> str:
        offers = "; ".join(f"{w}: {k.get('resources') or {}}" for w, k in workers.items())
        used = {task: dict(there.resources) for task, (_, there) in self._places.items()}
        return (
            f"Dask has no worker in time for {order.task}, which needs {dict(order.resources)}. Of the "
            f"{len(workers)} workers that run ({offers or 'none'}) this cluster uses {used or 'none'}; "
            "offer more with `dask worker --resources`, ask for less with resources=, or wait longer "
            "with start_timeout="
        )

    def release(self, task: str) -> None:
        """Give back the place of a task that needs its worker no longer."""
        self._places.pop(task, None)

    async def close(self) -> None:
        """Close the client, if this object has made it."""
        client, self._client = self._client, None
        owned, self._made = self._made, False
        if owned:
            await client.close()

    def close_now(self) -> None:
        """Do nothing: the scheduler forgets the client when this process has ended."""


class _DaskPlacement:
    """One task in a Dask worker."""

    def __init__(self, launcher: _DaskLauncher, task: str, key: str, address: str, worker: str, held: Any) -> None:
        self._launcher = launcher
        self._task = task
        self._key = key
        self._held = held
        self.address = address
        self.node = worker

    async def end(self, grace: float) -> str | None:
        """Stop the server, then let Dask drop the actor."""
        answers: list[Any] = []

        async def drop(client: Any) -> None:
            await client.cancel([self._held], asynchronous=True)

        self._launcher.release(self._task)
        stopping = self._launcher.call(self.node, _stop, self._key, grace)
        for work in (stopping, self._launcher.ask(drop)):
            limit = Deadline.after(grace + _ANSWER)
            with contextlib.suppress(Exception):  # a worker that is gone has ended it
                what = f"the end of a server in Dask worker {self.node}"
                answers.append(await limit.wait(work, what=what))
        return next((lost for lost in answers if isinstance(lost, str)), None)

    def end_now(self) -> None:
        """Do nothing: Dask drops the actor, which ends the server, when this process has ended."""

    async def fate(self) -> TaskFate:
        """Ask the worker whether the server runs, and the scheduler whether the worker does."""
        try:
            serving = await self._launcher.call(self.node, _is_serving, self._key)
        except Exception as error:
            return TaskFate(clean=False, how=f"Dask says: {error}")
        if serving:
            how = f"its server runs in {self.node} and does not answer"
            return TaskFate(clean=False, how=how, ended=False)
        return TaskFate(clean=True, how="its server was asked to stop")

    async def log(self) -> Sequence[str]:
        """Return the last lines of the library's log in the worker, if it is there."""
        with contextlib.suppress(Exception):
            lines: list[str] = await self._launcher.call(self.node, _log, self._key)
            return lines
        return ()


async def _opened(address: str | None) -> Any:
    import distributed

    client = distributed.Client(address, asynchronous=True, set_as_default=False)
    try:
        return await client
    except BaseException:
        await client.close()
        raise


# -- in the Dask worker ----------------------------------------------------------------------------

_hosts: dict[str, TaskHost] = {}


class _Holder:
    """The actor that Dask holds for a task: its end is the end of the server."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __del__(self) -> None:
        host = _hosts.pop(self._key, None)
        if host is not None:
            host.release()


async def _start(key: str, order: TaskOrder, host: str) -> tuple[str, str]:
    """Serve a task in this worker; return the address, and what has failed."""
    _hosts[key] = hosted = TaskHost(order, host)
    try:
        return await hosted.start(), ""
    except (OpError, ImportError) as error:
        await _stop(key, 0.0)
        return "", f"{type(error).__name__}: {error}"


async def _stop(key: str, grace: float) -> str:
    host = _hosts.pop(key, None)
    return "" if host is None else await host.stop(grace)


async def _is_serving(key: str) -> bool:
    return key in _hosts and _hosts[key].serving


async def _log(key: str) -> list[str]:
    return list(_hosts[key].log()) if key in _hosts else []
