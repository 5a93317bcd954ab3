"""A server's view of its cluster: the server's own task, the other tasks, and their addresses.

Owned by a server, which passes it to the master (for new sessions), to the links (which ask the resolver
through it before they dial) and to the worker (which receives changes of the cluster). Imports specs and
resolvers; the addresses are stored in the worker cache.

Invariants: This task is always part of the cluster. ``version`` changes with the tasks. A change is applied
completely or not at all. The latest information wins, whether it was set or resolved; an answer of the
resolver counts only if it differs from its previous answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from actorsession.actors import registry
from actorsession.actors.deadline import Deadline
from actorsession.cluster.resolvers import ClusterResolver, SimpleClusterResolver, ask_resolver
from actorsession.cluster.server.address_checks import checked_addresses, find_task, is_port_0, is_same_host
from actorsession.cluster.spec import ClusterDef, ClusterSpec
from actorsession.errors import InvalidArgumentError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from actorsession.cluster.worker_cache import WorkerCache

__all__ = ["ClusterView"]


class ClusterView:
    """The tasks and addresses of a cluster, as one of its servers sees them.

    Args:
        cluster: a spec, a value that can be converted to one, or a resolver.
        job: the job of this task; by default the one that the resolver returns, or the only one there is.
        index: its index in the job; by default the one that the resolver returns, or the only one there is.
        scheme: the scheme of addresses that have none.

    Attributes:
        task: this task.
        own_address: the address to listen at.
        version: a number that changes with the tasks.
        given_up: the tasks that have ended and are not started again.

    Raises:
        TypeError: for a cluster, job or index in another form.
        ValueError: for a job or index that is left out where there are several.
        InternalError: if the task is not in the cluster.
        InvalidArgumentError: for an invalid address.
        NotFoundError: for an address with a scheme that is not supported.
    """

    def __init__(
        self,
        cluster: ClusterSpec | ClusterDef | Mapping[str, Any] | ClusterResolver,
        job: str | None,
        index: int | None,
        scheme: str,
    ) -> None:
        self._resolver: ClusterResolver | None = None
        if not isinstance(cluster, (ClusterSpec, ClusterDef, Mapping)):
            if not isinstance(cluster, ClusterResolver):
                raise TypeError(
                    f"a server is given a ClusterSpec, what one can be made of, or a resolver; got {cluster!r:.100}"
                )
            if not isinstance(cluster, SimpleClusterResolver):  # whose answer never changes
                self._resolver = cluster
            job = cluster.task_type if job is None else job
            index = cluster.task_id if index is None else index
            cluster = cluster.cluster_spec()
        self._spec = self._resolved = ClusterSpec(cluster)
        self._scheme = scheme
        self.task = find_task(self._spec, job, index)
        self.own_address = checked_addresses(self._spec, scheme)[self.task]
        self.version = 0
        self.given_up: frozenset[str] = frozenset()
        self._cache: WorkerCache | None = None
        self._bound = ""
        self._on_change: Callable[[], None] = lambda: None

    @property
    def address(self) -> str:
        """The address that this task has bound; "" before."""
        return self._bound

    @property
    def changes(self) -> bool:
        """Whether there is a resolver that can be asked again."""
        return self._resolver is not None

    def begin(self, cache: WorkerCache, bound: str, on_change: Callable[[], None] = lambda: None) -> None:
        """Start to store the addresses of all tasks in a worker cache.

        Args:
            cache: the links of this task.
            bound: the address that this task has bound.
            on_change: called when the tasks were stored, now and whenever they change.
        """
        self._cache, self._bound, self._on_change = cache, bound, on_change
        self.learn(self._spec)

    def neighbours(self) -> int:
        """Return how many other tasks are in other processes of this host, as far as addresses show."""
        others = [address for task, address in self.tasks().items() if task != self.task]
        return sum(
            not is_port_0(address) and is_same_host(address, self._bound) and registry.lookup(address) is None
            for address in others
        )

    def tasks(self) -> Mapping[str, str]:
        """Return the tasks of the cluster with their last known addresses."""
        if self._cache is None:  # a client that redials may be served between the bind and ``begin``
            return checked_addresses(self._spec, self._scheme)
        known = self._cache.addresses.known
        return {task: known[task] for task in self._spec.tasks()}

    def learn(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        """Register the tasks of the cluster and their addresses; see ``Server.learn_peers``."""
        assert self._cache is not None
        spec = ClusterSpec(cluster)
        tasks = checked_addresses(spec, self._scheme)
        if self.task not in tasks:
            raise ValueError(f"{self.task} is not a task of the new cluster: {sorted(tasks)}")
        gone = [task for task in self._spec.tasks() if task not in tasks]
        self._spec = spec
        self._cache.forget(gone)
        self._store_addresses(tasks)
        self.version += 1
        self._on_change()

    def learn_tasks(self, tasks: Mapping[str, str], given_up: Iterable[str] = ()) -> None:
        """Register the tasks of the cluster and their addresses, given by full task name; see ``learn``.

        Args:
            tasks: address by task.
            given_up: those of the tasks that have ended and are not started again.
        """
        self.learn(ClusterSpec.of_tasks(tasks))
        self.given_up = frozenset(given_up)

    async def resolve(self, deadline: Deadline) -> None:
        """Apply the answer of the resolver if it differs from its previous one.

        Until then, what the server was told since that previous answer stays in effect.

        Raises:
            UnavailableError: if the answer is invalid.
            DeadlineExceededError: if the resolver does not answer in time.
        """
        assert self._resolver is not None
        spec = await ask_resolver(self._resolver, deadline)
        if self._cache is None:
            return
        try:
            if spec != self._resolved:
                self.learn(spec)
                self._resolved = spec
            else:  # a master may have sent our worker older addresses
                self._store_addresses(self._spec.tasks(self._scheme))
        except (ValueError, InvalidArgumentError, NotFoundError) as exc:
            raise UnavailableError(f"{self._resolver!r} has returned an invalid cluster: {exc}") from exc

    def _store_addresses(self, tasks: Mapping[str, str]) -> None:
        """Store the addresses of the cluster's tasks in the cache, except those that carry no information."""
        assert self._cache is not None
        known = self._cache.addresses.known
        # Port 0 means that the task or its launcher reports the port later, which adds nothing to a known
        # address.
        news = {t: a for t, a in tasks.items() if t not in known or not is_port_0(a)}
        # Others reach this task by its address in the cluster, not by the address that it has bound.
        own = tasks[self.task]
        self._cache.learn({**news, self.task: self._bound if is_port_0(own) else own})
