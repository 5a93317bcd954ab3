"""The kernel pool: the only place with threads, for segments too dear for the event loop.

Pool threads run generated code and nothing else; they never wait for one another, so the pool cannot
deadlock. A session or server owns its pool and shuts it down.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["OFFLOAD_ABOVE", "KernelPool"]

# Seconds above which a segment goes to the pool. Handing work to a thread and back costs about 60 us
# (measured, 2 cores), so below a few hundred it is a loss; the loop should not be held above 5 ms.
OFFLOAD_ABOVE = 1e-3


class KernelPool:
    """Threads for kernels; started when first needed.

    Args:
        threads: how many; 0 for one per processor.
    """

    def __init__(self, threads: int = 0) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        self.submitted = 0

    def submit(self, work: Callable[..., Any], *args: Any) -> None:
        """Runs ``work(*args)``, which must not raise, in a pool thread.

        Raises:
            RuntimeError: if the pool is shut down.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("the kernel pool is shut down")
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.threads, "actorsession-kernel")
            self.submitted += 1
            executor = self._executor
        executor.submit(work, *args)

    def shutdown(self, *, wait: bool = True) -> None:
        """Ends the threads after the work they have; may be called twice."""
        with self._lock:
            self._closed = True
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=wait, cancel_futures=False)
