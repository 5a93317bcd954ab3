"""Slurm's part of a cluster: jobs that hold nodes, and a step of a job for each task.

``open`` submits one job for all tasks that want the same resources, so that Slurm starts these together, and
waits for it. ``place`` starts a step there by ``srun``, whose streams bring the task's address and log. A
task for which no job has room, such as one of ``scale``, gets a job of its own.

Invariants: The token is in a file of mode 0600 in a folder of mode 0700, which all nodes have; it is in no
command line, no environment and no log. A job ends itself when its lease, a file that this process renews,
has not changed for some time; a task does the same when nothing asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.checkpoints import write_whole
from actorsession.cluster.launch.interpreter import command
from actorsession.engines import slurm_commands as slurm
from actorsession.engines.launcher import TaskFate, TaskOrder
from actorsession.engines.slurm_task import ENDED, GRACE, LOST, order_text
from actorsession.errors import DeadlineExceededError, OpError, ResourceExhaustedError, UnavailableError
from actorsession.rpc.exit_reports import LAST_LINES

__all__ = ["SlurmLauncher"]

_log = logging.getLogger("actorsession.engines")

# Seconds between two looks at a job that waits; each is a request to a controller that others use too.
_LOOK, _LONGEST_LOOK = 0.2, 5.0
# How often a lease is renewed while it lasts, and how often the job looks at it.
_RENEWALS = 6
# Lines of a task that are kept, as many as of a child process.
_KEPT_LINES = 40
# Seconds for a job to find room for a step; a step that has ended returns its own within one or two.
_STEP = 10
# Seconds for ``srun`` to report the end of its step, after which the step is what the job says.
_REPORT = 10.0

# What a task may want, and the options that ask for it.
_RESOURCES: Mapping[str, Callable[[Mapping[str, float]], str]] = {
    "cpus": lambda wanted: f"--cpus-per-task={math.ceil(wanted['cpus'])}",
    # MiB for each task; Slurm counts memory by processor.
    "memory": lambda wanted: f"--mem-per-cpu={math.ceil(wanted['memory'] / math.ceil(wanted.get('cpus', 1)))}M",
    "gpus": lambda wanted: f"--gpus-per-task={math.ceil(wanted['gpus'])}",
}

# The job itself does nothing but hold its nodes while its lease is renewed. It compares contents: clocks
# of two machines differ, and so do the times that a file server gives its files.
_SCRIPT = """\
#!/bin/bash
said= left={looks}
while [ "$left" -gt 0 ]; do
    now=$(cat {lease} 2>/dev/null) || exit 0
    if [ "$now" = "$said" ]; then left=$((left - 1)); else said=$now left={looks}; fi
    sleep {pause}
done
"""


class _StepNotBegun(Exception):
    """A step has not begun; has the reason."""


class _Job:
    """A job that holds nodes, and how many more tasks it has room for."""

    def __init__(self, id: str, resources: Mapping[str, float], free: int) -> None:
        self.id = id
        self.resources = dict(resources)
        self.free = free


class SlurmLauncher:
    """Places tasks as steps of Slurm jobs.

    Args:
        options: further options of each job, such as ``--partition=gpu``.
        folder: where the folder with token, lease and orders is made; all nodes have it at the same path.
        python: the interpreter of the tasks, on all nodes.
        keep: seconds after which jobs end by themselves when this process does not renew their lease.
        progress: called with a line about the jobs that are waited for, whenever it changes.
    """

    def __init__(
        self, options: Sequence[str], folder: Path, python: str, keep: float, progress: Callable[[str], object]
    ) -> None:
        self._options = tuple(options)
        self._parent = folder
        self._python = python
        self._keep = keep
        self._progress = progress
        self._folder: Path | None = None
        self._jobs: list[_Job] = []
        self._children = Children("jobs of a Slurm cluster")
        self._environment: dict[str, str] = {}
        self._orders = 0

    @property
    def engine(self) -> str:
        """The engine's name, for messages."""
        return "Slurm"

    @property
    def jobs(self) -> Sequence[str]:
        """The ids of the jobs that hold nodes for the cluster."""
        return [job.id for job in self._jobs]

    async def open(self, orders: Sequence[TaskOrder], deadline: Deadline) -> None:
        """Submit a job for the tasks of each kind, and wait until all run; see ``Launcher.open``."""
        kinds: dict[str, list[TaskOrder]] = {}
        for order in orders:
            _ = _wanted(order.resources)  # refuses what Slurm has no word for
            kinds.setdefault(json.dumps(dict(order.resources), sort_keys=True), []).append(order)
        folder = self._folder = _private_folder(self._parent)
        _write(folder / "token", orders[0].token)
        self._environment = slurm.environment(folder / "token")
        _write(folder / "lease", "0")
        _ = self._children.start(self._renew(folder / "lease"), name="lease of Slurm jobs")
        for alike in kinds.values():
            await self._submit(alike[0].resources, len(alike), deadline)
        await self._wait(self._jobs, deadline)

    async def _submit(self, resources: Mapping[str, float], tasks: int, deadline: Deadline) -> _Job:
        assert self._folder is not None
        asked = [f"--ntasks={tasks}", *_wanted(resources), *self._options]
        pause = self._keep / _RENEWALS
        lease = "'" + str(self._folder / "lease").replace("'", "'\\''") + "'"
        script = _SCRIPT.format(lease=lease, looks=_RENEWALS, pause=f"{pause:.3f}")
        own = [
            "--job-name=actorsession",
            "--no-requeue",
            "--no-kill",
            "--export=PATH",
            "--output=/dev/null",
            f"--chdir={self._folder}",
        ]
        words = " ".join(asked)
        path = self._folder / "job.sh"
        _write(path, script)
        submitting = slurm.submit([*own, *asked], path, self._environment, words)
        # Shielded, so that a job which Slurm has taken is never without an owner.
        child = self._children.start(submitting, name="sbatch", awaited=True)
        try:
            id = await deadline.wait(asyncio.shield(child), what=f"sbatch {words}")
        except BaseException:
            await asyncio.wait({child})
            if not child.cancelled() and child.exception() is None:
                self._jobs.append(_Job(child.result(), resources, 0))
            raise
        job = _Job(id, resources, tasks)
        self._jobs.append(job)
        return job

    async def _wait(self, jobs: Sequence[_Job], deadline: Deadline) -> None:
        """Wait until jobs run.

        Raises:
            ResourceExhaustedError: if one does not in time, or ends; says why and what there is.
        """
        told, pause = "", _LOOK
        for job in jobs:
            while True:
                state = await slurm.job_state(job.id, self._environment)
                line = f"Slurm job {job.id} is {state}"
                if line != told:
                    _log.info("%s", line)
                    self._progress(line)
                    told = line
                if state.runs:
                    break
                if deadline.expired or not state.waits:
                    there = await slurm.partitions(self._environment)
                    raise ResourceExhaustedError(
                        f"{line} and cannot be waited for any longer; it asks for "
                        f"{' '.join([f'--ntasks={job.free}', *_wanted(job.resources), *self._options])}, "
                        f"and there are {there}"
                    )
                left = deadline.time_left
                await asyncio.sleep(pause if left is None else min(pause, left))
                pause = min(2 * pause, _LONGEST_LOOK)

    async def _renew(self, lease: Path) -> None:
        """Change the file of the lease from time to time."""
        count = 0
        while True:
            await asyncio.sleep(self._keep / _RENEWALS / 2)
            count += 1
            try:
                await asyncio.to_thread(_write, lease, str(count))
            except OSError as exc:  # a file server that does not answer for a while
                _log.warning("the lease of the jobs %s is not renewed: %s", self.jobs, exc)

    async def place(self, order: TaskOrder, deadline: Deadline) -> SlurmPlacement:
        """Start a task as a step, and wait for its address; see ``Launcher.place``."""
        for job in self._jobs:
            if job.free and job.resources == dict(order.resources):
                try:
                    return await self._step(job, order, deadline)
                except _StepNotBegun as exc:
                    # A node may be lost, or a former step not over yet; and the job does not wait for either.
                    _log.info("job %s has no room for %s: %s", job.id, order.task, exc)
                    job.free = 0
        job = await self._submit(order.resources, 1, deadline)
        await self._wait([job], deadline)
        try:
            return await self._step(job, order, deadline)
        except _StepNotBegun as exc:
            raise UnavailableError(f"the process did not come up: {exc}", task=order.task) from None

    async def _step(self, job: _Job, order: TaskOrder, deadline: Deadline) -> SlurmPlacement:
        """Start a task as a step of a job.

        Raises:
            _StepNotBegun: if the step does not begin.
            OpError: if the task does not come up otherwise.
        """
        assert self._folder is not None
        job.free -= 1
        self._orders += 1
        path = self._folder / f"order-{self._orders}"
        _write(path, order_text(order))
        placement = SlurmPlacement(self, job, order.task, self._environment)
        words = [
            "srun",
            f"--jobid={job.id}",
            "--ntasks=1",
            "--nodes=1",
            "--exact",
            "--unbuffered",
            "--input=none",
            "--quiet",
            f"--immediate={_STEP}",
            f"--job-name={order.job}-{order.index}",
            *_wanted(order.resources),
            "--",
            *command("actorsession.engines.slurm_task", str(path), python=self._python),
        ]
        try:
            await placement.start(words, deadline)
        except BaseException:
            await placement.end(0.0)
            raise
        finally:
            path.unlink(missing_ok=True)
        return placement

    async def returned(self, job: _Job, node: str) -> None:
        """Register that a task of a job has ended; its place can be used again if its node is there."""
        with contextlib.suppress(OpError):
            if not node or await slurm.node_is_up(node, self._environment):
                job.free += 1

    async def close(self) -> None:
        """Cancel all jobs and remove the folder; see ``Launcher.close``."""
        jobs, self._jobs = self.jobs, []
        await self._children.stop(1.0)
        try:
            await slurm.cancel(jobs, self._environment)
        except OpError as error:  # they end with their lease
            _log.warning("the jobs %s are not cancelled: %s", jobs, error.message)
        self._remove_folder()

    def close_now(self) -> None:
        """Do the same without waiting."""
        jobs, self._jobs = self.jobs, []
        with contextlib.suppress(OSError):
            slurm.cancel_now(jobs, self._environment)
        self._remove_folder()

    def _remove_folder(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class SlurmPlacement:
    """A task that runs as a step; see ``Placement``."""

    def __init__(self, launcher: SlurmLauncher, job: _Job, task: str, variables: Mapping[str, str]) -> None:
        self._launcher = launcher
        self._job = job
        self._task = task
        self._environment = variables
        self._process: asyncio.subprocess.Process | None = None
        self._children = Children(f"step of {task}")
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reading: set[asyncio.Task[None]] = set()
        self._step = ""
        self._over = False
        self._in_order = False  # the task has said that its end was
        self._lost = ""
        self.address = ""
        self.node = ""

    async def start(self, words: Sequence[str], deadline: Deadline) -> None:
        """Start the step, and wait for its address.

        Raises:
            _StepNotBegun: if it ends before it has begun.
            UnavailableError: if it ends first; the message has its last lines.
            ResourceExhaustedError: if it does not begin in time.
        """
        process = self._process = await asyncio.create_subprocess_exec(
            *words,
            env=dict(self._environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for this process, which ends its steps
        )
        self._reading.add(self._children.start(self._read(process.stderr), name="its last lines"))
        try:
            self._step, self.node = await self._hear(deadline, "step", "node")
            (self.address,) = await self._hear(deadline, "address")
        except DeadlineExceededError:
            lines = "\n".join(self._lines)
            raise ResourceExhaustedError(
                f"{self._task} has not come up as a step of job {self._job.id} in time"
                + (LAST_LINES + lines if lines else ""),
                task=self._task,
            ) from None
        self._reading.add(self._children.start(self._read(process.stdout), name="its output"))

    async def _hear(self, deadline: Deadline, *keys: str) -> list[str]:
        """Read the next line of the task, which is an object, and return some of its values."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = await deadline.wait(self._process.stdout.readline(), what=f"the step of {self._task}")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            return [str(said[key]) for key in keys]
        fate = await self.fate()
        lines = "\n".join(self._lines)
        if not self._step:
            raise _StepNotBegun(fate.how + (LAST_LINES + lines if lines else ""))
        raise UnavailableError(
            f"the process did not come up: {fate.how}" + (LAST_LINES + lines if lines else ""), task=self._task
        )

    async def _read(self, stream: asyncio.StreamReader | None) -> None:
        """Keep the last lines of a stream, and let its writer never wait."""
        assert stream is not None
        rest = b""
        while data := await stream.read(65536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._keep_line(line)
            rest = rest[-65536:]
        if rest:
            self._keep_line(rest)

    def _keep_line(self, line: bytes) -> None:
        if line == ENDED:
            self._in_order = True
        elif line.startswith(LOST):
            self._lost = line.removeprefix(LOST).decode(errors="replace")
        else:
            self._lines.append(line.decode(errors="replace"))

    async def end(self, grace: float) -> str | None:
        """End the step; see ``Placement.end``."""
        process = self._process
        if process is None or self._over:
            return None
        self._over = True
        if grace:
            await self._signal_step("TERM", grace + GRACE)
        await self._signal_step("KILL", _REPORT)
        if process.returncode is None:
            self._signal(signal.SIGKILL)
        await process.wait()
        if self._reading:
            await asyncio.wait(self._reading, timeout=1.0)
        await self._children.stop(1.0)
        transport = getattr(process, "_transport", None)
        if transport is not None:  # asyncio leaves the pipes open until the transport is collected
            transport.close()
        await self._launcher.returned(self._job, self.node)
        return self._lost

    async def _signal_step(self, name: str, seconds: float) -> None:
        """Send a signal to the task, and wait for the end of ``srun``, which would only kill it."""
        assert self._process is not None
        if self._step and self._process.returncode is None:
            with contextlib.suppress(OpError):
                await slurm.signal(f"{self._job.id}.{self._step}", name, self._environment)
                ending = Deadline.after(seconds).wait
                await ending(self._process.wait(), what=f"the end of {self._task}")

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def end_now(self) -> None:
        """End the step without waiting; its job is cancelled besides."""
        self._signal(signal.SIGKILL)

    async def fate(self) -> TaskFate:
        """Return how the step ended; see ``Placement.fate``."""
        assert self._process is not None
        code: int | None = None
        with contextlib.suppress(OpError):
            code = await Deadline.after(_REPORT).wait(self._process.wait(), what="the end of srun")
        if self._reading and code is not None:
            await asyncio.wait(self._reading, timeout=1.0)
        in_order = code == 0 and self._in_order
        how = "its step does not answer" if code is None else _said_code(code)
        ended = code is not None
        if code == 0 and not in_order:
            how = "its step was lost"
        with contextlib.suppress(OpError):
            state = await slurm.job_state(self._job.id, self._environment)
            if not state.runs:
                how, ended = f"{how}; job {self._job.id} is {state}", True
            elif self.node and not await slurm.node_is_up(self.node, self._environment):
                how, ended = f"{how}; node {self.node} is down", True
        return TaskFate(clean=in_order, how=how, ended=ended)

    async def log(self) -> Sequence[str]:
        """Return the last lines that the task wrote."""
        return tuple(self._lines)


def _said_code(code: int) -> str:
    """Return an exit status of ``srun`` in words; that of a task which a signal has ended is 128 more."""
    number = -code if code < 0 else code - 128
    if code < 0 or code > 128:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(number).name}"
    return f"exit code {code}"


def _wanted(resources: Mapping[str, float]) -> list[str]:
    """Return the options that ask for the resources of a task.

    Raises:
        ResourceExhaustedError: for a resource that Slurm has no word for.
    """
    unknown = sorted(resources.keys() - _RESOURCES.keys())
    if unknown:
        raise ResourceExhaustedError(
            f"a task on Slurm may want {', '.join(_RESOURCES)}, got {', '.join(unknown)}; all else is in "
            "options, such as options=['--constraint=fast']"
        )
    return [_RESOURCES[name](resources) for name in _RESOURCES if name in resources]


def _private_folder(parent: Path) -> Path:
    """Make a folder that only this user may enter.

    Raises:
        UnavailableError: if there is no place for it.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=".actorsession-", dir=parent))
    except OSError as exc:
        raise UnavailableError(
            f"no folder can be made in {parent}: {exc}; folder names one that all nodes have"
        ) from exc


def _write(path: Path, text: str) -> None:
    """Write a file that only this user may read; readers never see half of it."""
    write_whole(str(path), lambda file: file.write(text.encode()), private=True)
