"""Worker processes that property tests share, for it takes long to start them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from actorsession import LocalCluster

__all__ = ["TASKS", "Processes"]

# Where three places are: two devices of the first process and one of the second.
TASKS = ("/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0", "/job:worker/task:0/cpu:1")


class Processes:
    """Two worker processes of two devices each, owned by a loop in a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.cluster = LocalCluster({"worker": 2}, devices=2)
        self._do(self.cluster.start())

    def _do(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        self._do(self.cluster.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
