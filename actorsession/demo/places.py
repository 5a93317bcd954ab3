"""Where the demo trains: the clusters that it can run on, by the name of ``--on``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorsession.cluster import Cluster

__all__ = ["PLACES", "new_cluster"]

# By name: the module, the class, and what each task is to have of the engine; a task of the demo is small. A
# class finds its engine by the engine's own environment variables, or starts it on this machine.
_CLASSES: dict[str, tuple[str, str, dict[str, float]]] = {
    "local": ("actorsession.cluster", "LocalCluster", {}),
    "ray": ("actorsession.engines", "RayCluster", {"num_cpus": 0.25}),
    "dask": ("actorsession.engines", "DaskCluster", {}),
    "slurm": ("actorsession.engines", "SlurmCluster", {}),
}
PLACES = tuple(_CLASSES)
"""The names of all places; the first is this machine."""


def new_cluster(place: str, jobs: Mapping[str, int]) -> Cluster:
    """Return a cluster that is not started.

    Args:
        place: one of ``PLACES``.
        jobs: number of tasks of each job.
    """
    module, name, extra = _CLASSES[place]
    settings = {"resources": dict.fromkeys(jobs, extra)} if extra else {}
    cluster: Cluster = getattr(importlib.import_module(module), name)(jobs, **settings)
    return cluster
