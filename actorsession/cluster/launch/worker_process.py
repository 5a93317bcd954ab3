"""One child process of a ``LocalCluster``: how it is started, receives the cluster's addresses, and is ended.

It runs ``actorsession worker`` in an interpreter like that of its parent, and exchanges lines of JSON with it
over its standard streams, see ``child``. Its last lines on standard error are kept for its exit status.

Invariant: a forked child of the parent neither writes to the process nor signals it: both the pipes and the
process are the parent's.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.ownership import Owner
from actorsession.actors.supervision import Children
from actorsession.cluster.admin.admin_client import ToldTasks
from actorsession.cluster.launch.interpreter import command
from actorsession.cluster.launch.memory_usage import MemoryUsage
from actorsession.cluster.launch.stderr_reader import StderrReader
from actorsession.cluster.spec import ClusterSpec
from actorsession.errors import FailedPreconditionError, OpError, ResourceExhaustedError, UnavailableError, exhausted
from actorsession.graph.device import task_name
from actorsession.ops.blas_threads import core_type, thread_count
from actorsession.rpc.exit_reports import LAST_LINES
from transports import SecurityConfig
from transports.host import current_host

__all__ = ["LAST_WORD", "WorkerProcess"]

LAST_WORD = b"\n"
"""Written by a parent to a child before it closes the pipe, so that this is not mistaken for its death."""

# Seconds that a system may take to spawn a process; it takes milliseconds.
_SPAWN = 10.0
# Seconds for a process to end in order when its loop ends; it ends itself in less, see ``child``.
_LEFT_GRACE = 5.0
# Seconds between samples of the memory of a process, which take microseconds.
_LOOK = 0.5
# Seconds for the loop that owns a process to be notified of its end and last lines; it takes milliseconds.
_LAST_WORDS = 0.5
# Seconds that a process may take to write its last snapshot; it stops that itself a little before.
_SAVING = 125.0
# A flag of a process in the kernel: it is exiting.
_PF_EXITING = 0x4


class WorkerProcess:
    """One child process.

    Attributes:
        job: the job of its task.
        index: the index of the task in its job.
        task: its task name.
        address: the address that it listens at, once it is up.
        sequel: what became of its task after its end, for ``fate``; set by whoever decides that.
        lost: what was lost with it although it was ended in order, in its own words; "" for nothing.
    """

    def __init__(self, job: str, index: int, security: SecurityConfig | None = None, processes: int = 1) -> None:
        self.job = job
        self.index = index
        self._security = security
        self._processes = processes  # of the cluster; they share the cores of this machine
        self.task = task_name(job, index)
        self.address = ""
        self.sequel = self.lost = ""
        self._owner = Owner("process")
        self._process: asyncio.subprocess.Process | None = None
        self._children = Children(f"process of {self.task}")
        self._spawning: asyncio.Task[None] | None = None
        self._stderr: StderrReader | None = None
        self._memory: MemoryUsage | None = None
        self._killed = False  # by this object
        self._stopped = False  # likewise

    async def start(
        self, cluster: Mapping[str, Any], cluster_id: str, devices: Mapping[str, int], more: Sequence[str] = ()
    ) -> None:
        """Spawn the process with additional arguments ``more``; ``announced`` waits for its address."""
        self._owner.check()
        words = command(
            "actorsession",
            "worker",
            "--job",
            self.job,
            "--task",
            str(self.index),
            "--cluster",
            json.dumps(cluster),
            "--cluster-id",
            cluster_id,
            *(["--devices", ",".join(f"{kind}={count}" for kind, count in devices.items())] if devices else []),
            "--announce",
            *more,
        )
        # Shielded: if it were cancelled half-way, it would leave a process without an owner. ``stop`` waits
        # for it.
        self._spawning = self._children.start(self._spawn(words), name=f"spawn of {self.task}", awaited=True)
        await asyncio.shield(self._spawning)

    async def _spawn(self, words: Sequence[str]) -> None:
        self._stderr = drain = StderrReader(self.task)
        try:
            self._process = await current_host().processes.start(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=drain.writing_end,
                env=_environment(self._security, self._processes),
                # In a session of its own: Ctrl-C at the terminal is for the parent, which ends its children.
                start_new_session=True,
            )
        except BaseException as exc:
            drain.stop()
            if not isinstance(exc, OSError):
                raise
            what = f"cannot start the process of {self.task}: {exc.strerror or exc}"
            is_short = exc.errno == errno.EAGAIN or exhausted(exc) is not None
            kind = ResourceExhaustedError if is_short else UnavailableError
            raise kind(what, task=self.task) from exc
        finally:
            drain.start()
        self._memory = MemoryUsage(self._process.pid)
        _ = self._children.start(self._watch(self._memory), name=f"memory of {self.task}")
        _ = self._children.start(self._end_with_loop(self._process), name=f"end of {self.task}")

    async def announced(self) -> None:
        """Wait until the child listens.

        Raises:
            UnavailableError: if it ends first; the message has its last lines.
        """
        self.address = (await self._hear("address"))["address"]

    async def tell_cluster(self, now: Callable[[], ToldTasks]) -> ToldTasks:
        """Send the addresses of all tasks to the child, and wait until it has registered them.

        Args:
            now: returns the tasks as they are; the child hears of those that are given up later.

        Returns:
            What it has registered.

        Raises:
            UnavailableError: if the child ends first; the message has its last lines.
        """
        self._owner.check()
        stdin = self._running().stdin
        assert stdin is not None
        tasks, _ = now()
        with contextlib.suppress(ConnectionError):  # then it cannot answer either
            stdin.write(json.dumps(ClusterSpec.of_tasks(tasks).as_dict()).encode() + b"\n")
            await stdin.drain()
        await self._hear("ready")
        return tasks, frozenset()

    async def _hear(self, key: str) -> dict[str, Any]:
        """Read the next line of the child, which must be an object with a key, and return the object."""
        self._owner.check()
        process = self._running()
        assert process.stdout is not None
        line = await process.stdout.readline()
        try:
            said: dict[str, Any] = json.loads(line)
            said[key]
        except (ValueError, KeyError, TypeError):
            await process.wait()
            await self._hear_last_lines(1.0)
            raise UnavailableError(f"the process did not come up: {self.fate}", task=self.task) from None
        return said

    async def stop(self, grace: float) -> None:
        """End the process; kill it if it does not end within ``grace`` seconds.

        Unless ``grace`` is 0, a process that writes its last snapshot gets the time for that besides. In a
        forked child it does nothing.
        """
        if self._owner.is_forked:
            return
        if self._owner.loop_has_ended:
            self.kill_now()
            return
        self._owner.check()
        if self._spawning is not None and not self._spawning.done():
            await asyncio.wait({self._spawning}, timeout=_SPAWN)
        if self._process is not None:
            await self._end(self._process, grace)
            await self._children.stop(1.0)
            _close_pipes(self._process)

    async def _end(self, process: asyncio.subprocess.Process, grace: float) -> None:
        if process.returncode is None:
            self._stopped = True
            if process.stdin is not None:
                if not process.stdin.is_closing():
                    process.stdin.write(LAST_WORD)
                process.stdin.close()
            try:
                await Deadline.after(grace).wait(process.wait(), what=f"the end of {self.task}")
            except OpError:
                if grace and await self._is_saving():
                    with contextlib.suppress(OpError):
                        ending = Deadline.after(_SAVING).wait
                        await ending(process.wait(), what=f"the last snapshot of {self.task}")
                self.send_signal(signal.SIGKILL)
        await process.wait()
        await self._hear_losses(process)
        await self._hear_last_lines(_LAST_WORDS)
        if self._stderr is not None:
            self._stderr.stop()

    async def _hear_losses(self, process: asyncio.subprocess.Process) -> None:
        """Read what the ended process has said of its last snapshot."""
        if not process.returncode or process.stdout is None:
            return
        with contextlib.suppress(OpError):
            reading = Deadline.after(_LAST_WORDS).wait(process.stdout.read(), what="last words")
            for line in (await reading).splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    self.lost = str(json.loads(line)["lost"])

    async def _end_with_loop(self, process: asyncio.subprocess.Process) -> None:
        """End the process if its loop ends, which cancels this coroutine, before ``stop`` was called.

        Nothing could wait for the process afterwards, and asyncio would report that its transport was left
        open.
        """
        try:
            await process.wait()
        except asyncio.CancelledError:
            if not self._owner.is_forked:
                await self._end(process, _LEFT_GRACE)
            raise
        finally:
            if not self._owner.is_forked:
                _close_pipes(process)

    async def _is_saving(self) -> bool:
        """Return whether the process has reported that it is about to write a last snapshot."""
        with contextlib.suppress(OpError):
            said = self._hear("saving")
            return bool(await Deadline.after(_LAST_WORDS).wait(said, what="a last word"))
        return False

    def kill_now(self) -> None:
        """Kill the process without waiting for anything; in a forked child do nothing."""
        if not self._owner.is_forked:
            self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process is gone.

        Raises:
            RuntimeError: in a forked child.
        """
        self._owner.check_process()
        if self._process is not None and self._process.returncode is None:
            self._killed = self._killed or number == signal.SIGKILL
            # The process may end at this very moment, which is what any signal here is for.
            with contextlib.suppress(ProcessLookupError):
                if self._owner.loop_has_ended:  # and its objects with it
                    os.kill(self._process.pid, number)
                else:
                    self._process.send_signal(number)

    async def wait_ended(self) -> int:
        """Wait for the end of the process, for any reason.

        Returns:
            Its exit code; the negative number of the signal that killed it.

        Raises:
            RuntimeError: in a forked child, or on another loop than that of the process.
        """
        self._owner.check()
        return await self._running().wait()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    @property
    def node(self) -> str:
        """The name of this machine."""
        return current_host().network.gethostname()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def exit_code(self) -> int | None:
        """The exit code, the negative number of the signal that killed it, or ``None`` while it runs."""
        return None if self._process is None else self._process.returncode

    @property
    def peak_memory(self) -> int:
        """The most bytes of memory that it was seen to hold, sampled twice a second; 0 if unknown."""
        return 0 if self._memory is None else self._memory.peak

    @property
    def killed_for_memory(self) -> bool:
        """Whether the kernel has killed it for lack of memory, according to its cgroup."""
        by_kernel = self.exit_code == -signal.SIGKILL and not self._killed
        return by_kernel and self._memory is not None and self._memory.kills > 0

    @property
    def fate(self) -> str:
        """How the process ended: exit code or signal, sequel, peak memory unless it succeeded, last lines."""
        code = self.exit_code
        if code is None:
            how = "it runs"
        elif code < 0:
            how = f"killed by {signal.Signals(-code).name}"
            if self.killed_for_memory:
                how += ", by the kernel for lack of memory (OOM kill)"
            elif self._stopped:
                how += ", by the program that had started it"
        else:
            how = f"exit code {code}"
        if self.sequel:
            how += f"; {self.sequel}"
        if code and self.peak_memory:
            how += f"; it held {self.peak_memory / 2**20:.0f} MiB at most"
        lines = self._lines()
        return how + (LAST_LINES + "\n".join(lines) if lines else "")

    def _lines(self) -> Sequence[str]:
        return () if self._stderr is None else self._stderr.lines

    async def log(self) -> Sequence[str]:
        """Return the last lines that the process wrote to standard error."""
        return self._lines()

    async def last_words(self) -> str:
        """Return a sentence on the end of the process, see ``fate``; "" if it is alive.

        May be awaited on any loop.

        A connection ends before the parent is notified of the end of the process, so this waits for that.
        """
        if self._process is None or (self.alive and not _is_ending(self.pid)):
            return ""
        limit = Deadline.after(_LAST_WORDS)
        while self.alive:
            if limit.expired:
                return ""
            await asyncio.sleep(0.005)
        await self._hear_last_lines(limit.time_left or 0.0)
        code = self.exit_code or 0
        return f"{self.task} (pid {self.pid}) {'was' if code < 0 else 'ended with'} {self.fate}"

    async def _hear_last_lines(self, seconds: float) -> None:
        """Wait until all output of an ended process has been read; its children may still hold the pipe."""
        limit = Deadline.after(seconds)
        while self._stderr is not None and not self._stderr.ended:
            if limit.expired:
                break
            await asyncio.sleep(0.005)

    async def _watch(self, memory: MemoryUsage) -> None:
        """Sample the memory of the process while it is alive."""
        while self.alive:
            memory.look()
            await asyncio.sleep(_LOOK)

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise FailedPreconditionError(f"the process of {self.task} was not started")
        return self._process


def _is_ending(pid: int) -> bool:
    """Return whether a child has ended or is exiting.

    Its connections are closed before its parent is notified.
    """
    try:
        said = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # gone, or a system without /proc, where a short wait decides
        return True
    return said[0] in (b"Z", b"X") or bool(int(said[6]) & _PF_EXITING)


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """Close what asyncio leaves open until the transport is collected."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _environment(security: SecurityConfig | None, processes: int) -> dict[str, str]:
    """Return the child's environment."""
    out = dict(os.environ)
    if security is not None:
        out |= security.to_environment()
    kernels = core_type()
    if kernels is not None:
        out["OPENBLAS_CORETYPE"] = kernels
    threads = thread_count(processes, current_host().processes.processors())
    if threads is not None:
        out["OPENBLAS_NUM_THREADS"] = str(threads)
    return out
