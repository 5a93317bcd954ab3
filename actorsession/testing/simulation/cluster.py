"""A cluster in a simulation: real servers, each on a machine of its own, and real sessions, in one process.

``SimulatedCluster`` is a ``ManagedCluster`` as ``LocalCluster`` is: how tasks are started, restarted with pauses and
a limit, added, removed and told of each other is the code that real clusters run. What is simulated is below them:
a ``SimulatedProcess`` is a ``Server`` on a ``SimulatedHost``, which has a disk, a network and a clock of the
simulation. No server knows of that. The program, its sessions and what watches the processes are on the host
``client``. A run is a function of the seed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.admin.admin_client import ToldTasks
from actorsession.cluster.launch.cluster_settings import ClusterSettings
from actorsession.cluster.launch.managed_cluster import GRACE, ManagedCluster
from actorsession.cluster.launch.spawner import Spawner
from actorsession.cluster.launch.task_restarts import TaskEnd
from actorsession.cluster.resolvers import ClusterResolver
from actorsession.cluster.server.server import Server
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.durations import checked_seconds
from actorsession.errors import FailedPreconditionError, OpError, UnavailableError
from actorsession.graph.device import task_name
from actorsession.graph.graph import Graph
from actorsession.rpc.exit_reports import LAST_LINES
from actorsession.rpc.security import remember_token
from actorsession.session.async_session import AsyncSession
from actorsession.testing.simulation.disk import SimulatedDisk
from actorsession.testing.simulation.faults import KINDS, SNAPSHOTS, Fault, Schedule
from actorsession.testing.simulation.host import SimulatedHost
from actorsession.testing.simulation.loop import SimulatedLoop
from actorsession.testing.simulation.network import SimulatedNetwork
from transports.host import current_host, on_host

__all__ = ["DEFAULT_JOBS", "SimulatedCluster", "SimulatedMachine", "SimulatedProcess"]

T = TypeVar("T")

DEFAULT_JOBS: Mapping[str, int] = {"worker": 2, "ps": 1}
"""Number of tasks of each job of a cluster of which nothing else is said."""

_PORT = 2222
_TOKEN_BYTES = 16
# Tries to start a task when nothing fails any more, and seconds between two looks at what there is no event for.
_TRIES, _LOOK = 5, 0.25
# Seconds that an interpreter takes to import the package and to begin to serve: least and most.
_START = 0.05, 0.3
# The same for a line in the pipe between a process and its parent, and for the news of its end.
_PIPE = 1e-5, 2e-3
# The same for the news that a machine is gone, which no kernel reports.
_LOST = 0.01, 5.0
# Seconds for the parent of a process to be notified of its end, as for real ones, and for a last snapshot.
_LAST_WORDS, _SAVING = 0.5, 125.0


class SimulatedMachine:
    """A machine: what outlives the processes that run on it.

    Args:
        loop: the loop of the simulation.
        network: its network.
        name: its name, by which others reach it.

    Attributes:
        disk: its disk.
        host: the process that runs on it now, or ran last.
        is_used: whether a process was started on it.
        process: that of the task which was started last; ``None`` on the machine of a client.
    """

    def __init__(self, loop: SimulatedLoop, network: SimulatedNetwork, name: str) -> None:
        self.name = name
        self._loop = loop
        self._network = network
        self._random = loop.random(f"machine {name}")
        self.disk = SimulatedDisk()
        self.host: SimulatedHost = self._equipped(SimulatedHost(loop, name))
        self.is_used = False
        self.process: SimulatedProcess | None = None

    def _equipped(self, host: SimulatedHost) -> SimulatedHost:
        host.files = self.disk
        host.network = self._network.of(host)
        return host

    def boot(self) -> SimulatedHost:
        """Return the host of a new process.

        Raises:
            RuntimeError: if the process before still runs: a task has one process at a time.
        """
        if self.is_used:
            if not self.host.is_dead:
                raise RuntimeError(f"{self.name} has a process already")
            self.host = self._equipped(self.host.restart())
        self.is_used = True
        return self.host

    def end(self, *, power: bool = False) -> None:
        """End the process at once; with ``power`` the machine goes as well, and with it what was not synced."""
        self.host.crash()
        self._network.crashed(self.host, gone=power)
        self.disk.killed(self.host)
        if power:
            self.disk.crash(self._random)

    def __repr__(self) -> str:
        return f"<SimulatedMachine {self.name}>"


class SimulatedProcess:
    """The process of one task: a ``Server`` on a machine; has the interface of ``TaskProcess``.

    Args:
        loop: the loop of the simulation.
        machine: where it runs.
        parent: the host that starts it and is told of its end.
        hear_loss: called with it when its parent hears of its end, if it has ever served.
        job: the job of its task.
        index: the index of the task in its job.

    Attributes:
        job: the job of its task.
        index: the index of the task in its job.
        task: its task name.
        address: the address that it listens at, once it is up.
        sequel: what became of its task after its end, for ``fate``.
        lost: what was lost with it because its last snapshot could not be written.
        machine: where it runs.
        server: its server; ``None`` before it is made.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        machine: SimulatedMachine,
        parent: SimulatedHost,
        hear_loss: Callable[[SimulatedProcess], object],
        job: str,
        index: int,
    ) -> None:
        self.job, self.index, self.task = job, index, task_name(job, index)
        self.address = self.sequel = self.lost = ""
        self.machine = machine
        self.server: Server | None = None
        self.host: SimulatedHost | None = None
        self._loop = loop
        self._parent = parent
        self._hear_loss = hear_loss
        self._has_served = False
        self._random = loop.random(f"process of {self.task}")
        self._children = Children(f"process of {self.task}")
        self._up, self._ready, self._ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._left: int | None = None  # its exit code before its parent knows
        self._stopped = False  # by its parent
        self._lines: Sequence[str] = ()
        self.exit_code: int | None = None

    # -- the process ---------------------------------------------------------------------------

    def start(self, cluster: Mapping[str, Any] | ClusterResolver, settings: ServerSettings) -> None:
        """Start it on its machine; ``announced`` waits until it serves."""
        self.host = self.machine.boot()
        with on_host(self.host):
            _ = self._children.start(self._serve(cluster, settings), name=f"process of {self.task}")

    async def _serve(self, cluster: Mapping[str, Any] | ClusterResolver, settings: ServerSettings) -> None:
        """Do what the program of a worker does: serve until somebody ends it."""
        await asyncio.sleep(self._random.uniform(*_START))
        lost, lines = "", []
        try:
            self.server = server = Server(cluster, self.job, self.index, settings)
            async with server:
                self._has_served = True
                self._tell_parent(_PIPE, self._hear_address, server.target)
                await server.serve_forever()
            if lost := server.lost:
                lines = [lost]
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        self._leave(1 if lines else 0, lines, lost)

    def _leave(self, code: int, lines: Sequence[str] = (), lost: str = "", *, power: bool = False) -> None:
        """End with a code, of which the parent hears a little later, as of what was lost."""
        if self._left is None and self.host is not None:
            self._left, self._lines = code, lines
            self.machine.end(power=power)
            self._tell_parent(_LOST if power else _PIPE, self._hear_end, code, lost)

    def _tell_parent(self, delay: tuple[float, float], hear: Callable[..., None], *args: Any) -> None:
        with on_host(self._parent):
            self._loop.call_later(self._random.uniform(*delay), hear, *args)

    def _hear_address(self, address: str) -> None:
        self.address = address
        self._up.set()

    def _hear_end(self, code: int, lost: str) -> None:
        self.exit_code, self.lost = code, lost
        if self._has_served:
            self._hear_loss(self)
        for event in (self._up, self._ready, self._ended):
            event.set()

    # -- faults --------------------------------------------------------------------------------

    def crash(self) -> None:
        """Kill it, as SIGKILL does: what it has written to files stays, its connections are reset."""
        self._leave(-signal.SIGKILL)

    def power_off(self) -> None:
        """Cut the power of its machine: what was not synced may be lost, and no peer is told."""
        self._leave(-signal.SIGKILL, power=True)

    def terminate(self) -> None:
        """Ask it to end in order, as SIGTERM does."""
        if self.server is None or not self.server.is_serving or self.host is None:
            self._leave(-signal.SIGTERM)
            return
        with on_host(self.host):
            _ = self._children.start(self.server.stop(why="by SIGTERM"), name=f"end of {self.task}")

    def stall(self) -> None:
        """Stop it, as SIGSTOP does."""
        if self.host is not None:
            self.host.stall()

    def go_on(self) -> None:
        """Let it go on, as SIGCONT does."""
        if self.host is not None:
            self.host.go_on()

    @property
    def disk(self) -> SimulatedDisk:
        """The disk of its machine."""
        return self.machine.disk

    # -- TaskProcess ---------------------------------------------------------------------------

    async def announced(self) -> None:
        """See ``TaskProcess.announced``."""
        await self._up.wait()
        self._check_up()

    async def tell_cluster(self, now: Callable[[], ToldTasks]) -> ToldTasks:
        """See ``TaskProcess.tell_cluster``."""
        self._check_up()
        assert self.host is not None
        tasks, _ = now()
        with on_host(self.host):
            self._loop.call_later(self._random.uniform(*_PIPE), self._learn, ClusterSpec.of_tasks(tasks))
        await self._ready.wait()
        self._check_up()
        return tasks, frozenset()

    def _learn(self, cluster: ClusterSpec) -> None:
        assert self.server is not None
        self.server.learn_peers(cluster)
        self._tell_parent(_PIPE, self._ready.set)

    def _check_up(self) -> None:
        if self.exit_code is not None:
            raise UnavailableError(f"the process did not come up: {self.fate}", task=self.task)
        if self.host is None:
            raise FailedPreconditionError(f"the process of {self.task} was not started")

    async def stop(self, grace: float) -> None:
        """See ``TaskProcess.stop``."""
        if self.host is None:
            return
        if self.exit_code is None:
            self._stopped = True
            if grace:
                self.terminate()
                saving = _SAVING if self.server is not None and self.server.keeps_snapshots else 0.0
                with contextlib.suppress(OpError):
                    await Deadline.after(grace + saving).wait(self._ended.wait(), what=f"the end of {self.task}")
            self.crash()
        await self._ended.wait()

    def kill_now(self) -> None:
        """See ``TaskProcess.kill_now``."""
        self.crash()

    async def wait_ended(self) -> int:
        """See ``TaskProcess.wait_ended``."""
        await self._ended.wait()
        return self.exit_code or 0

    async def last_words(self) -> str:
        """See ``TaskProcess.last_words``."""
        if self._left is None:
            return ""
        with contextlib.suppress(OpError):
            await Deadline.after(_LAST_WORDS).wait(self._ended.wait(), what=f"the end of {self.task}")
        if self.exit_code is None:
            return ""
        return f"{self.task} (on {self.node}) {'was' if self.exit_code < 0 else 'ended with'} {self.fate}"

    async def log(self) -> Sequence[str]:
        """See ``TaskProcess.log``."""
        return self._lines

    @property
    def alive(self) -> bool:
        """Whether it was started and its parent has not been told of its end."""
        return self.host is not None and self.exit_code is None

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, which its parent may not know yet."""
        return self._left is not None

    @property
    def fate(self) -> str:
        """How it ended: exit code or signal, sequel, last lines."""
        code = self.exit_code
        if code is None:
            return "it runs"
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if code < 0 and self._stopped:
            how += ", by the program that had started it"
        if self.sequel:
            how += f"; {self.sequel}"
        return how + (LAST_LINES + "\n".join(self._lines) if self._lines else "")

    @property
    def node(self) -> str:
        """The name of its machine."""
        return self.machine.name

    def __repr__(self) -> str:
        return f"<SimulatedProcess {self.task}: {self.fate.partition(LAST_LINES)[0]}>"


class SimulatedSpawner(Spawner[SimulatedProcess]):
    """Starts the processes of a simulated cluster.

    Args:
        loop: the loop of the simulation.
        network: its network.
        parent: the host of the cluster.
        settings: those of all servers.
        processes: returns those of all tasks, if servers ask a resolver for the tasks.
        hear_loss: see ``SimulatedProcess``.

    Attributes:
        machines: the machine of each task that there ever was, by name.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        network: SimulatedNetwork,
        parent: SimulatedHost,
        settings: ServerSettings,
        processes: Callable[[], Iterable[SimulatedProcess]] | None,
        hear_loss: Callable[[SimulatedProcess], object],
    ) -> None:
        self._loop = loop
        self._network = network
        self._parent = parent
        self._settings = settings
        self._processes = processes
        self._hear_loss = hear_loss
        self.machines: dict[str, SimulatedMachine] = {}

    def new_process(self, job: str, index: int, together: int) -> SimulatedProcess:
        """See ``Spawner.new_process``."""
        name = f"{job}-{index}"
        machine = self.machines.get(name)
        if machine is None:
            machine = self.machines[name] = SimulatedMachine(self._loop, self._network, name)
        return SimulatedProcess(self._loop, machine, self._parent, self._hear_loss, job, index)

    def new_address(self, job: str, index: int) -> str:
        """See ``Spawner.new_address``."""
        return f"tcp://{job}-{index}:{_PORT}"

    async def spawn(self, process: SimulatedProcess, cluster: Mapping[str, Any]) -> None:
        """See ``Spawner.spawn``."""
        if (former := process.machine.process) is not None:  # of a task that is leaving
            await former.wait_ended()
        process.machine.process = process
        self.let_in(self.new_address(process.job, process.index))
        settings = replace(self._settings, cluster_id=self.cluster_id)
        process.start(cluster if self._processes is None else _Resolver(self, self._processes, process), settings)

    def let_in(self, address: str) -> None:
        """Give the current host the token of the cluster for a server."""
        assert self._settings.token is not None
        remember_token(address, self._settings.token)

    def release_now(self) -> None:
        """Do nothing: what a host has ends with the simulation."""


class _Resolver:
    """What knows the tasks of a cluster before anybody has told a server of a change."""

    def __init__(
        self, spawner: SimulatedSpawner, processes: Callable[[], Iterable[SimulatedProcess]], own: SimulatedProcess
    ) -> None:
        self._new_address = spawner.new_address
        self._processes = processes
        self._own = own
        self.task_type, self.task_id = own.job, own.index

    def cluster_spec(self) -> ClusterSpec:
        """Return the tasks that there are now, and that of the server, which may be starting or leaving."""
        processes = [*self._processes(), self._own]
        return ClusterSpec.of_tasks({one.task: self._new_address(one.job, one.index) for one in processes})


class SimulatedCluster(ManagedCluster[SimulatedProcess]):
    """A cluster whose machines, network, disks and clocks are simulated, and whose servers and sessions are real.

    It has the interface of ``LocalCluster``: ``async with`` starts it, ``restart``, ``add``, ``remove``, ``scale`` and
    ``stop`` are the same code. ``run`` runs a program on it from beginning to end; what the program does, awaits and
    measures takes virtual time only, and the same seed gives the same run.

    Args:
        seed: what everything that is drawn is drawn from.
        jobs: number of tasks of each job; ``DEFAULT_JOBS`` if left out.
        settings: those of all servers; the id of the cluster, the token and the folder of snapshots are the
            cluster's to set.
        restart: how often a task is started again within 60 s after it has crashed; see ``LocalCluster``.
        snapshot_every: seconds between two snapshots of the variables of each task, which a restarted task restores;
            ``None`` for no snapshots.
        on_end: called with the end of each process that the program has not ended itself.
        start_timeout: seconds for all processes to come up.
        cluster_id: the id of the cluster; drawn if left out.
        resolves: whether servers ask a resolver for the tasks when they dial one, in place of waiting to be told.
        shuffle: whether callbacks of one process run in any order as well, which asyncio does not do.
        most_seconds: virtual seconds after which a run fails that has not ended, with a list of what waits.

    Attributes:
        loop: the event loop of the simulation.
        network: the network.
        client: the host of the program and of its sessions.

    Raises:
        ValueError: for no task at all, or a number below 0.
    """

    def __init__(
        self,
        seed: int,
        jobs: Mapping[str, int] | None = None,
        *,
        settings: ServerSettings | None = None,
        restart: int = 0,
        snapshot_every: float | None = None,
        on_end: Callable[[TaskEnd], object] | None = None,
        start_timeout: float = CONNECT_TIMEOUT,
        cluster_id: str | None = None,
        resolves: bool = False,
        shuffle: bool = False,
        most_seconds: float = 1e4,
    ) -> None:
        jobs = DEFAULT_JOBS if jobs is None else jobs
        self.loop: SimulatedLoop = SimulatedLoop(seed, shuffle=shuffle, most_seconds=most_seconds)
        self.network: SimulatedNetwork = SimulatedNetwork(self.loop)
        self._clients: dict[str, SimulatedMachine] = {}
        self.client = self.client_host("client")
        self._coming: list[asyncio.Handle] = []
        self._lasting: dict[Fault, Callable[[], None]] = {}
        with on_host(self.client):
            self._changes = Children("changes of a simulated cluster")
            self._program = Children("program of a simulated cluster")
            self._under_way: list[asyncio.Task[None]] = []
            self._returns = asyncio.Lock()
            settings = settings or ServerSettings()
            token = self.client.entropy.token_hex(_TOKEN_BYTES)
            settings = replace(settings, token=token)
            if snapshot_every is not None:
                every = checked_seconds("snapshot_every", snapshot_every)
                settings = replace(settings, snapshot_dir=SNAPSHOTS, snapshot_every=every)
            if restart and not settings.restart_wait:
                settings = replace(settings, restart_wait=CONNECT_TIMEOUT)
            self._job = next(iter(jobs), "")
            processes = (lambda: self.processes.values()) if resolves else None
            self._machines = SimulatedSpawner(self.loop, self.network, self.client, settings, processes, self.hear_loss)
            of_cluster = ClusterSettings(
                start_timeout=start_timeout,
                security=None,
                token=token,
                restart=restart,
                on_end=on_end,
                cluster_id=cluster_id,
                snapshot_dir=None,  # each machine has its own disk, so the folder of one says nothing of the cluster
            )
            super().__init__(jobs, self._machines, of_cluster)

    # -- programs ------------------------------------------------------------------------------

    def run(self, main: Callable[[Self], Coroutine[Any, Any, T]]) -> T:
        """Run a program on the host of clients to its end.

        Args:
            main: gets the cluster, which is not started: ``async with cluster`` starts and ends it.

        Returns:
            What ``main`` returns.

        Raises:
            BaseException: what ``main`` raises; and what ``SimulatedLoop.run`` raises for a program that waits for
                ever.
        """

        async def program() -> T:
            with on_host(self.client):
                return await self._program.start(main(self), name="program", awaited=True)

        return self.loop.run(program())

    def session(
        self,
        graph: Graph | None = None,
        job: str | None = None,
        index: int = 0,
        *,
        config: ConfigProto | None = None,
        name: str = "",
    ) -> AsyncSession:
        """Return a session whose master is a task; ``async with`` opens it, on the host of whoever enters it.

        Args:
            graph: the graph to run; the default graph if left out.
            job: the job of the master; the first of the cluster if left out.
            index: the index of the master in its job.
            config: settings of the session.
            name: its name.
        """
        # Also where no task is now: it may come back, and what a session says of that is part of what is simulated.
        target = self._machines.new_address(self._job if job is None else job, index)
        with on_host(host if isinstance(host := current_host(), SimulatedHost) else self.client):
            self._machines.let_in(target)
            return AsyncSession(target, graph, config, name=name)

    def task(self, job: str, index: int = 0) -> SimulatedProcess:
        """Return the process of a task, which can be crashed or stalled; see ``process``."""
        return self.process(job, index)

    def client_host(self, name: str) -> SimulatedHost:
        """Return the host of a client: a new process if there is none of this name, or none any more."""
        machine = self._clients.get(name)
        if machine is None:
            machine = self._clients[name] = SimulatedMachine(self.loop, self.network, name)
        return machine.boot() if machine.host.is_dead or not machine.is_used else machine.host

    async def stop(self, grace: float = GRACE) -> None:
        """Heal what is broken, and end all processes; see ``ManagedCluster.stop``."""
        self.heal()
        try:
            await super().stop(grace)
        finally:
            await self._changes.stop(grace)

    aclose = stop

    # -- faults --------------------------------------------------------------------------------

    def hear_loss(self, process: SimulatedProcess) -> None:
        """Hear that a process has ended which has served, and with it the state that it held; for subclasses."""

    def begin(self, schedule: Schedule) -> None:
        """Let the faults of a schedule strike, counted from now; ``heal`` ends them."""
        self._coming += [self.loop.call_beside(fault.at, self.client, self._come, fault) for fault in schedule]

    def _come(self, fault: Fault) -> None:
        if fault.after:
            self.loop.after(fault.after, functools.partial(self._strike_unless_healed, fault))
        else:
            self.strike(fault)

    def _strike_unless_healed(self, fault: Fault) -> None:
        if self._coming:
            with on_host(self.client):
                self.strike(fault)

    def strike(self, fault: Fault) -> None:
        """Let a fault strike now; one whose task or file is not there does nothing."""
        self.loop.note(f"fault {fault}")
        with contextlib.suppress(ValueError, FileNotFoundError):
            KINDS[fault.kind].strike(self, fault)

    def end_later(self, fault: Fault, end: Callable[[], object]) -> None:
        """Call ``end`` when a fault has lasted its time, or when the cluster is healed; for ``KINDS``."""

        def over() -> None:
            if self._lasting.pop(fault, None) is not None:
                self.loop.note(f"over {fault}")
                end()

        self._lasting[fault] = over
        if fault.seconds:
            _ = self.loop.call_beside(fault.seconds, self.client, over)

    def heal(self) -> None:
        """End all faults that last, and let none of those that are to come strike."""
        for timer in self._coming:
            timer.cancel()
        self._coming.clear()
        for over in list(self._lasting.values()):
            over()

    async def recover(self) -> None:
        """Heal what is broken, start tasks that are dead, and add those that have left, until all are there.

        Raises:
            OpError: if one does not come up although nothing fails any more.
        """
        self.heal()
        if changes := [change for change in self._under_way if not change.done()]:
            await asyncio.wait(changes)
        tasks = [(job, index) for job, count in self._jobs.items() for index in range(count)]
        tries: Counter[tuple[str, int]] = Counter()
        while missing := [at for at in tasks if not self.serves(task_name(*at))]:
            for job, index in missing:
                tries[job, index] += 1
                await self.bring_back(job, index, surely=tries[job, index] >= _TRIES)
            await asyncio.sleep(_LOOK)

    def serves(self, task: str) -> bool:
        """Whether a task is in the cluster and its process is up."""
        process = self.processes.get(task)
        if process is None or process.has_ended or process.server is None:
            return False
        return process.server.is_serving

    async def bring_back(self, job: str, index: int, *, surely: bool = False) -> None:
        """Start a task again whose process has ended, or add one that has left; one that comes up is left alone.

        Args:
            job: the job of the task.
            index: its index in the job; of those that have left the lowest one comes first.
            surely: whether a failure is an error, as nothing may be wrong any more.
        """
        async with self._returns:  # two would add two tasks where one has left
            process = self.processes.get(task_name(job, index))
            # The cluster may start it again meanwhile, or let it leave.
            with contextlib.suppress(*([] if surely else [OpError, ValueError])):
                if process is None:
                    _ = await self.add(job)
                elif process.has_ended and not self._changing[process.task].locked():
                    await self.restart(job, index)

    def change(self, what: str, work: Coroutine[Any, Any, Any]) -> None:
        """Run a change of the cluster beside the program; an error is noted, because the tasks are under faults."""

        async def do() -> None:
            try:
                await work
            except (OpError, ValueError) as error:
                self.loop.note(f"{what}: {type(error).__name__}: {error}")

        with on_host(self.client):
            self._under_way.append(self._changes.start(do(), name=what))

    def kill_client(self, name: str) -> None:
        """Kill the process of a client, whose tasks never go on; ``client_host`` starts another one.

        Raises:
            ValueError: for an unknown client, and for the host of the program.
        """
        machine = self._clients.get(name)
        if machine is None or machine.host is self.client:
            raise ValueError(f"no client {name!r} beside the program; there are {sorted(self._clients)}")
        machine.end()

    def machine(self, name: str) -> SimulatedMachine:
        """Return the machine of a name, such as ``worker-0`` or ``client``.

        Raises:
            ValueError: for an unknown one.
        """
        machines = self._machines.machines | self._clients
        if name not in machines:
            raise ValueError(f"no machine {name!r}; there are {sorted(machines)}")
        return machines[name]

    def has_process(self, name: str) -> bool:
        """Return whether a process runs on the machine of a task, whether the cluster knows it or not."""
        machine = self._machines.machines.get(name)
        return machine is not None and machine.is_used and not machine.host.is_dead

    def process_on(self, name: str) -> SimulatedProcess:
        """Return the process of the task on a machine, which the cluster may be starting or may have removed.

        Raises:
            ValueError: for a machine without one.
        """
        process = self.machine(name).process
        if process is None:
            raise ValueError(f"no process was started on {name}")
        return process
