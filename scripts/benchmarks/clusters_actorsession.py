"""actorsession's clusters: each is started for the first row that needs it and stays for the others."""

from __future__ import annotations

import os
from unittest.mock import patch

import actorsession as acts

from .loop_case import Loop

__all__ = ["Clusters"]


class Clusters:
    """Local clusters by their number of workers, and the loop on which rows use them.

    Attributes:
        loop: that loop.
    """

    def __init__(self) -> None:
        self.loop = Loop()
        self._running: dict[tuple[int, int, bool], acts.LocalCluster] = {}

    def running(self, workers: int = 2, *, ps: int = 1, shared: bool = True) -> acts.LocalCluster:
        """Return a cluster whose processes share memory, as is the default, or do not."""
        key = workers, ps, shared
        if key not in self._running:
            cluster = acts.LocalCluster({"ps": ps, "worker": workers})
            with patch.dict(os.environ, {} if shared else {"ACTORSESSION_SHARED_MEMORY": "0"}):
                self.loop.run(cluster.start())
            self._running[key] = cluster
        return self._running[key]

    def close(self) -> None:
        """Stop the clusters and the loop."""
        for cluster in self._running.values():
            self.loop.run(cluster.stop())
        self._running.clear()
        self.loop.close()
