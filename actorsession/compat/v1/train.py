"""``tf.train``: optimisers, savers, coordinators, and the servers of a cluster."""

from __future__ import annotations

from actorsession import train as _train
from actorsession.cluster import ClusterSpec
from actorsession.compat.v1.server import Server
from actorsession.train import *  # noqa: F403 - its __all__ is the list

__all__ = ["ClusterSpec", "Server", *_train.__all__]
