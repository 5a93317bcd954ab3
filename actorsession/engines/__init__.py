"""Clusters whose processes an engine places: who starts the servers, and where they are.

An engine owns machines already: it places our servers, and knows when a machine is lost. Tensors go over our
own links. Each engine is a launcher (``launcher``) under the one base class of such clusters
(``engine_cluster``), which has the interface of ``LocalCluster``. The engines' own packages are extras, and
are imported when a cluster is started.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

# The public names by module; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".dask_cluster": "DaskCluster",
    ".engine_cluster": "EngineCluster",
    ".launcher": "Launcher Placement TaskFate TaskOrder",
    ".ray_cluster": "RayCluster",
    ".slurm_cluster": "SlurmCluster",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
