# Written by scripts/generated.py.
"""Clusters whose processes an engine places: who starts the servers, and where they are.

An engine owns machines already: it places our servers, and knows when a machine is lost. Tensors go over our
own links. Each engine is a launcher (``launcher``) under the one base class of such clusters
(``engine_cluster``), which has the interface of ``LocalCluster``. The engines' own packages are extras, and
are imported when a cluster is started.
"""

from actorsession.engines.dask_cluster import DaskCluster as DaskCluster
from actorsession.engines.engine_cluster import EngineCluster as EngineCluster
from actorsession.engines.launcher import (
Launcher as Launcher, Placement as Placement, TaskFate as TaskFate, TaskOrder as TaskOrder
)
from actorsession.engines.ray_cluster import RayCluster as RayCluster
from actorsession.engines.slurm_cluster import SlurmCluster as SlurmCluster


__all__ = [
"DaskCluster", "EngineCluster", "Launcher", "Placement", "RayCluster", "SlurmCluster", "TaskFate",
"TaskOrder"
]
