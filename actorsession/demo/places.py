"""What the demo trains and where: the names of ``--network``, ``--device`` and ``--on``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.cluster import Cluster

__all__ = ["DEVICES", "NETWORKS", "PLACES", "Variant", "new_cluster"]

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

DEVICES = {"cpu": "CPU", "torch-cpu": "TORCH_CPU"}
"""The device types by the names of ``--device``."""
NETWORKS = ("dense", "convolutional")
"""The networks, which ``model`` builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What is trained, and with what.

    Attributes:
        network: one of ``NETWORKS``.
        device_type: the type of the devices of all nodes.
        place: where the cluster runs, one of ``PLACES``.
    """

    network: str = NETWORKS[0]
    device_type: str = "CPU"
    place: str = PLACES[0]

    @property
    def device(self) -> str:
        """The device of a task, without the task."""
        return f"/device:{self.device_type}:0"


def new_cluster(variant: Variant, jobs: Mapping[str, int]) -> Cluster:
    """Return a cluster that is not started.

    Args:
        variant: where it runs, and its tasks' devices.
        jobs: number of tasks of each job.
    """
    module, name, extra = _CLASSES[variant.place]
    settings: dict[str, Any] = {"devices": {variant.device_type: 1}}
    if extra:
        settings["resources"] = dict.fromkeys(jobs, extra)
    cluster: Cluster = getattr(importlib.import_module(module), name)(jobs, **settings)
    return cluster
