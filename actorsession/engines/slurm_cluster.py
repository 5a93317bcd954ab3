"""``SlurmCluster``: a cluster whose processes Slurm places, with the interface of ``LocalCluster``.

Made by a program on a login node or wherever else Slurm's commands are. What it asks of Slurm is in
``slurm_launcher``; all else is the base class's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.engines.engine_cluster import EngineCluster
from actorsession.engines.slurm_launcher import SlurmLauncher

__all__ = ["SlurmCluster"]


class SlurmCluster(EngineCluster):
    """A cluster whose tasks are steps of Slurm jobs.

    Tasks that want the same resources are one job, so that Slurm starts them together. The jobs are cancelled
    at the end; if this process is killed they end by themselves after ``keep`` seconds.

    Args:
        jobs: number of tasks of each job of the cluster, such as ``{"ps": 1, "worker": 8}``.
        resources: what each task of a job wants: ``cpus``, ``gpus``, and ``memory`` in MiB.
        options: further options of ``sbatch``, such as ``["--partition=gpu", "--time=8:00:00"]``.
        folder: where a private folder for token and orders is made, which all nodes must have at the same
            path; by default the home directory.
        python: the interpreter of the tasks, at its path on the nodes; by default this one.
        progress: called with a line about the jobs that are waited for, whenever it changes; by default the
            line is written to standard error if that is a terminal.
        start_timeout: seconds for all tasks to come up, with the time that the jobs wait for nodes.
        keep: seconds after which jobs and tasks end by themselves when nothing is heard of this process.
        more: see ``EngineCluster``.

    Raises:
        ValueError: see ``EngineCluster``.
        TypeError: likewise.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        resources: Mapping[str, Mapping[str, float]] | None = None,
        options: Sequence[str] = (),
        folder: str | os.PathLike[str] | None = None,
        python: str = sys.executable,
        progress: Callable[[str], object] | None = None,
        start_timeout: float = 3600.0,
        keep: float = 60.0,
        **more: Any,
    ) -> None:
        where = Path.home() if folder is None else Path(folder).resolve()
        self._slurm = SlurmLauncher(options, where, python, keep, progress or _show)
        super().__init__(self._slurm, jobs, resources=resources, start_timeout=start_timeout, keep=keep, **more)

    @property
    def slurm_jobs(self) -> Sequence[str]:
        """The ids of the Slurm jobs that hold nodes for this cluster."""
        return self._slurm.jobs


def _show(line: str) -> None:
    """Write a line to standard error if somebody watches it."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
