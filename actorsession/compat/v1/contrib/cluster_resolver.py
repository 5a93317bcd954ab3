"""``tf.contrib.cluster_resolver``: objects that know the addresses of a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from actorsession.compat.v1.train.clusters import ClusterSpec, task_of
from actorsession.json_text import read_json_object

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver"]


class ClusterResolver:
    """Knows the addresses of a cluster, and which task this process is."""

    environment = ""
    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        """Return the addresses."""
        raise NotImplementedError("cluster_spec is not implemented for " + type(self).__name__)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address for the sessions of a task.

        Args:
            task_type: its job.
            task_id: its number.
            rpc_layer: what stands before the address, as in ``grpc://``.
        """
        raise NotImplementedError("master is not implemented for " + type(self).__name__)

    def _address(self, task_type: Any, task_id: Any, rpc_layer: str | None) -> str:
        address: str = self.cluster_spec().task_address(task_type, task_id)
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address


class SimpleClusterResolver(ClusterResolver):
    """Knows a cluster that it is told.

    Args:
        cluster_spec: the cluster.
        master: the address for sessions.
        task_type: the job of this process.
        task_id: its number.
        environment: kept.
        num_accelerators: accepted for compatibility.
        rpc_layer: what stands before addresses.

    Raises:
        TypeError: for a cluster that is none.
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Any = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a ClusterSpec, got {cluster_spec!r:.100}")
        self._cluster_spec, self._master = cluster_spec, master
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster."""
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address for the sessions of a task; the one it was told without a task."""
        if task_type is None or task_id is None:
            layer = rpc_layer or self.rpc_layer
            return f"{layer}://{self._master}" if layer and self._master else self._master
        return self._address(task_type, task_id, rpc_layer)


class TFConfigClusterResolver(ClusterResolver):
    """Knows the cluster of the environment variable ``TF_CONFIG``.

    Args:
        task_type: the job of this process; that of the variable if omitted.
        task_id: its number, likewise.
        rpc_layer: what stands before addresses, likewise.
        environment: kept, likewise.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        known = self._known()
        job, index = task_of(known)
        self.task_type = task_type or job
        self.task_id = index if task_id is None else task_id
        self.rpc_layer = rpc_layer or known.get("rpc_layer")
        self.environment = environment or known.get("environment", "")

    @staticmethod
    def _known() -> Mapping[str, Any]:
        return read_json_object(os.environ.get("TF_CONFIG") or "{}", "TF_CONFIG")

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster of the variable."""
        return ClusterSpec(self._known().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the address for the sessions of a task; "" without a cluster."""
        if not self.cluster_spec().as_dict():
            return ""
        number = self.task_id if task_id is None else task_id
        return self._address(task_type or self.task_type, number, rpc_layer)


class TPUClusterResolver(ClusterResolver):
    """There are no TPUs: making one is an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise ValueError("there are no TPUs here, and so no addresses of them")
