"""The kernel pools of a session, and the choice of one for a run.

Holds the threads that sessions share: those of the whole process, and those of pools with a global name.
Sizes and sharing are TensorFlow's: the first session decides how many threads the process has; a session may
request its own pool, or a list of pools from which runs choose by number. Unlike in TensorFlow, the threads
end with the last session that uses them, so that a later session decides anew. Direct sessions use it.

The registry holds its threads weakly: only a share (``KernelPool``) keeps them alive. In a forked child it
starts empty, because threads stay behind in the parent.
"""

from __future__ import annotations

import contextlib
import threading
import weakref

from actorsession.config import ConfigProto, RunOptions, ThreadPoolOptionProto
from actorsession.config.environment import environment_number
from actorsession.errors import InvalidArgumentError
from actorsession.runtime.kernel_pool import KernelPool, PoolThreads
from transports.host import current_host

__all__ = ["NUM_THREADS_VARIABLES", "SessionPools", "server_pool"]

NUM_THREADS_VARIABLES = ("ACTORSESSION_NUM_INTEROP_THREADS", "TF_NUM_INTEROP_THREADS")
"""The environment variables that size pools without a size in the settings; the first that is set counts."""

# The pool number of a run that uses no pool.
_CALLER = -1


class _Registry:
    """Threads that sessions share, by global name; the name of the process's threads is ""."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: weakref.WeakValueDictionary[str, PoolThreads] = weakref.WeakValueDictionary()

    def of_process(self, number: int) -> KernelPool:
        """Return a share of the process's threads; ``number`` is their number if there are none yet."""
        return self._share("", number)

    def named(self, name: str, number: int) -> KernelPool:
        """Return a share of the threads with a global name.

        Raises:
            InvalidArgumentError: if they exist in another number.
        """
        share = self._share(name, number)
        if share.threads != number:
            share.shutdown(wait=False)
            raise InvalidArgumentError(
                f"the pool with global_name {name!r} has {share.threads} threads and cannot have "
                f"{number} now: ask for {share.threads}, or give this pool another name"
            )
        return share

    def _share(self, name: str, number: int) -> KernelPool:
        """Return a share of the threads with a name, which are made if there are none."""
        with self._lock:
            threads = self._threads.get(name)
            if threads is not None:
                with contextlib.suppress(RuntimeError):  # their last share was shut down
                    return KernelPool(threads)
            label = f"actorsession-kernel-{name}" if name else "actorsession-kernel"
            threads = self._threads[name] = PoolThreads(number, label)
            return KernelPool(threads)


class SessionPools:
    """The kernel pools of one session.

    Args:
        config: the session's settings.

    Attributes:
        explicit: whether the settings request pools, so that even runs that need no pool use them.
        default: what ``choose`` returns for a run without options.

    Raises:
        InvalidArgumentError: if a pool with a global name exists with another size.
    """

    def __init__(self, config: ConfigProto) -> None:
        asked = config.inter_op_parallelism_threads
        from_environment = environment_number(*NUM_THREADS_VARIABLES)
        number = next((n for n in (asked, from_environment) if n > 0), 0) or current_host().processes.processors()
        listed = config.session_inter_op_thread_pool
        self.explicit = bool(listed) or config.use_per_session_threads
        self._inline = False
        if listed:
            self._pools = [_listed(options, i, number) for i, options in enumerate(listed)]
        elif config.use_per_session_threads:
            self._pools = [KernelPool(PoolThreads(number, "actorsession-kernel-session"))]
        elif asked < 0 or (asked == 0 and from_environment < 0):
            self._pools = []
            self._inline = True
        else:
            self._pools = [current_host().own(_Registry).of_process(number)]
        self.default = self._pools[0] if self._pools else None

    def choose(self, options: RunOptions | None) -> KernelPool | None:
        """Return the pool of a run; ``None`` for the caller's thread.

        Raises:
            InvalidArgumentError: if the options name a pool that the session does not have.
        """
        if options is None:
            return self.default
        index = options.inter_op_thread_pool
        last = max(len(self._pools), 1) - 1
        if not _CALLER <= index <= last:
            raise InvalidArgumentError(
                f"Invalid inter_op_thread_pool: {index}; this session has pools 0 to {last}, and "
                f"{_CALLER} stands for the caller's thread"
            )
        return None if self._inline or index == _CALLER else self._pools[index]

    @property
    def all(self) -> tuple[KernelPool, ...]:
        """The session's pools."""
        return tuple(self._pools)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of threads of each pool; empty if kernels run in the caller's thread."""
        return tuple(pool.threads for pool in self._pools)

    @property
    def submitted(self) -> int:
        """The number of segments that this session submitted to its pools so far."""
        return sum(pool.submitted for pool in self._pools)

    def shutdown(self) -> None:
        """Release the session's shares without waiting; may be called twice."""
        for pool in self._pools:
            pool.shutdown(wait=False)


def _listed(options: ThreadPoolOptionProto, index: int, default: int) -> KernelPool:
    """Return a pool of ``session_inter_op_thread_pool``."""
    number = options.num_threads or default
    if options.global_name:
        return current_host().own(_Registry).named(options.global_name, number)
    return KernelPool(PoolThreads(number, f"actorsession-kernel-{index}"))


def server_pool(config: ConfigProto) -> KernelPool | None:
    """Return the kernel pool of a server: its own threads, for all of its sessions.

    Args:
        config: the server's settings. ``inter_op_parallelism_threads`` counts first, then the environment.

    Returns:
        The pool; ``None`` where kernels run in the loop's own thread.
    """
    number = config.inter_op_parallelism_threads or environment_number(*NUM_THREADS_VARIABLES)
    return None if number < 0 else KernelPool(number)
