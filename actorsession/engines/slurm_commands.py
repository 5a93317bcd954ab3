"""Slurm's commands, as ``SlurmCluster`` calls them: ``sbatch``, ``squeue``, ``sinfo`` and ``scancel``.

Owns their environment, also for ``srun``, and their errors; knows no task. The commands are the interface
that every site has, of whatever version, and they need no package.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from actorsession.errors import ResourceExhaustedError, UnavailableError
from actorsession.records import dataclass
from actorsession.rpc.security import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE

__all__ = [
    "JobState",
    "cancel",
    "cancel_now",
    "environment",
    "job_state",
    "node_is_up",
    "partitions",
    "signal",
    "submit",
]

# Seconds for one command; Slurm's own limit for an answer of its controller is ten.
_LIMIT = 30.0
# The states of a job that is not over.
_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "STOPPED", "RESIZING"})
# Reasons for which a job waits as long as nobody changes it or the configuration.
_HOPELESS = frozenset({"BadConstraints", "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit"})


@dataclass(frozen=True, slots=True)
class JobState:
    """What Slurm says of a job.

    Attributes:
        state: its state, such as PENDING, RUNNING or NODE_FAIL.
        reason: why it is in that state, or "None".
    """

    state: str
    reason: str

    @property
    def runs(self) -> bool:
        """Whether its nodes are allocated and its steps may start."""
        return self.state in ("RUNNING", "COMPLETING")

    @property
    def waits(self) -> bool:
        """Whether it has not started yet, and can."""
        return self.state in _WAITING and self.reason not in _HOPELESS

    def __str__(self) -> str:
        reason = "" if self.reason in ("", "None") else f" ({self.reason})"
        return self.state.lower().replace("_", " ") + reason


def environment(token_file: Path) -> dict[str, str]:
    """Return the environment of all commands: this one, without what would leave traces in a job.

    The token is left out, since Slurm stores and sends the environment of jobs; so are the variables of a job
    that this process itself is part of, which commands take for options.

    Args:
        token_file: the file with the token of the cluster.
    """
    out = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SLURM_", "SBATCH_", "SRUN_")) or name == "SLURM_CONF"
    }
    out.pop(TOKEN_VARIABLE, None)
    package = sys.modules[__name__.partition(".")[0]]
    root = str(Path(str(package.__file__)).resolve().parents[1])
    path = [root, *filter(None, [os.environ.get("PYTHONPATH", "")])]
    return {**out, "PYTHONPATH": os.pathsep.join(path), TOKEN_FILE_VARIABLE: str(token_file)}


async def submit(options: Sequence[str], script: Path, variables: Mapping[str, str], asked: str) -> str:
    """Submit a job and return its id.

    Args:
        options: the options of ``sbatch``.
        script: the file of the job's script.
        variables: the environment of the command.
        asked: what the job asks for, for errors.

    Raises:
        ResourceExhaustedError: if Slurm refuses the job; says what was asked and what there is.
        UnavailableError: if there is no ``sbatch``.
    """
    code, out, err = await _run(["sbatch", "--parsable", *options, str(script)], variables)
    if code:
        reason = ", ".join((err or out).splitlines())
        raise ResourceExhaustedError(
            f"Slurm refuses a job with {asked}: {reason}; it has {await partitions(variables)}"
        )
    return out.partition(";")[0]


async def job_state(job: str, variables: Mapping[str, str]) -> JobState:
    """Return what Slurm says of a job; UNKNOWN for one that it has forgotten.

    Raises:
        UnavailableError: if Slurm does not answer.
    """
    words = ["squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T|%r"]
    code, out, err = await _run(words, variables)
    if code and "Invalid job id" not in err:
        raise UnavailableError(f"squeue does not know job {job}: {err or out}")
    state, _, reason = (out.splitlines() or ["UNKNOWN"])[0].partition("|")
    return JobState(state, reason)


async def node_is_up(node: str, variables: Mapping[str, str]) -> bool:
    """Return whether a node takes steps."""
    words = ["sinfo", "--noheader", "--Node", f"--nodes={node}", "--format=%t"]
    code, out, _ = await _run(words, variables)
    # An asterisk marks a node that does not answer.
    return code == 0 and out.startswith(("alloc", "mix", "idle", "comp")) and "*" not in out


async def partitions(variables: Mapping[str, str]) -> str:
    """Return what there is: nodes by partition and state, for errors."""
    words = ["sinfo", "--noheader", "--format=%D %t nodes of %c processors in %R"]
    code, out, _ = await _run(words, variables)
    return ", ".join(out.splitlines()) if code == 0 and out else "nothing that sinfo could name"


async def signal(step: str, name: str, variables: Mapping[str, str]) -> None:
    """Send a signal to the tasks of a step; one that has ended is ignored."""
    _ = await _run(["scancel", "--quiet", f"--signal={name}", step], variables)


async def cancel(jobs: Sequence[str], variables: Mapping[str, str]) -> None:
    """Cancel jobs; those that have ended are ignored."""
    if jobs:
        _ = await _run(["scancel", "--quiet", *jobs], variables)


def cancel_now(jobs: Sequence[str], variables: Mapping[str, str]) -> None:
    """Cancel jobs without waiting for the command."""
    if jobs:
        # In a session of its own, so that it outlives a program that ends at once.
        _ = subprocess.Popen(
            ["scancel", "--quiet", *jobs],
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


async def _run(words: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
    """Return exit status, output and errors of a command.

    Raises:
        UnavailableError: if it is not there, or does not end in time.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            env=dict(variables),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        raise UnavailableError(
            f"{words[0]} is not on the PATH; a SlurmCluster is made where Slurm's commands are, such as on a login node"
        ) from None
    try:
        async with asyncio.timeout(_LIMIT):
            out, err = await process.communicate()
    except TimeoutError:
        raise UnavailableError(f"{words[0]} has not answered within {_LIMIT:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode or 0
    return code, out.decode(errors="replace").strip(), err.decode(errors="replace").strip()
