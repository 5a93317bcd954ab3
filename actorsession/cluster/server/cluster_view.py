"""The cluster as one of its servers knows it: which task the server is, who else there is, and where.

Owned by a server, which hands it to the master (for new sessions), to the links (which have it ask the
resolver before they dial) and to whoever tells of tasks that join, move or leave. It imports specs and
resolvers; addresses end up in the worker cache.

Invariants: this task is always one of the cluster; ``version`` changes with the tasks; a change is taken in
whole or not at all. What comes last counts, be it told or resolved: a resolver's answer is news only when it
differs from its answer before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import Deadline
from actorsession.cluster.resolvers import ClusterResolver, SimpleClusterResolver, ask_resolver
from actorsession.cluster.server.address_checks import checked_addresses, find_task, is_port_0
from actorsession.cluster.spec import ClusterDef, ClusterSpec
from actorsession.errors import InvalidArgumentError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from actorsession.cluster.worker_cache import WorkerCache

__all__ = ["ClusterView"]


class ClusterView:
    """What a server knows of its cluster.

    Args:
        cluster: a spec, what one can be made of, or a resolver.
        job: the job of this task; by default what the resolver says, or the only one there is.
        index: its index in the job; by default what the resolver says, or the only one there is.
        scheme: of addresses that have none.

    Attributes:
        task: this task.
        own_address: where it is to listen.
        version: a number that changes with the tasks.

    Raises:
        TypeError: for a cluster, job or index in another form.
        ValueError: for a job or index that is left out where there are several.
        InternalError: if the task is not in the cluster.
        InvalidArgumentError: for an address that is none.
        NotFoundError: for one with a scheme that nothing here speaks.
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
                    "a server is given a ClusterSpec, what one can be made of, or a resolver; got "
                    f"{cluster!r:.100}"
                )
            if not isinstance(cluster, SimpleClusterResolver):  # which says the same for ever
                self._resolver = cluster
            job = cluster.task_type if job is None else job
            index = cluster.task_id if index is None else index
            cluster = cluster.cluster_spec()
        self._spec = self._resolved = ClusterSpec(cluster)
        self._scheme = scheme
        self.task = find_task(self._spec, job, index)
        self.own_address = checked_addresses(self._spec, scheme)[self.task]
        self.version = 0
        self._cache: WorkerCache | None = None
        self._bound = ""

    @property
    def changes(self) -> bool:
        """Whether there is a resolver to be asked again."""
        return self._resolver is not None

    def begin(self, cache: WorkerCache, bound: str) -> None:
        """Begin to teach a cache where everybody is.

        Args:
            cache: the links of this task.
            bound: the address that this task has bound.
        """
        self._cache, self._bound = cache, bound
        self.learn(self._spec)

    def tasks(self) -> Mapping[str, str]:
        """Return the tasks of the cluster, and the address of each that is known last."""
        assert self._cache is not None
        known = self._cache.addresses
        return {task: known[task] for task in self._spec.tasks()}

    def learn(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        """Take in which tasks the cluster has, and where; see ``Server.learn_peers``."""
        assert self._cache is not None
        spec = ClusterSpec(cluster)
        tasks = checked_addresses(spec, self._scheme)
        if self.task not in tasks:
            raise ValueError(f"{self.task} is not in the cluster that it is told: {sorted(tasks)}")
        gone = set(self._spec.tasks()) - set(tasks)
        self._spec = spec
        self._cache.forget(gone)
        self._teach(tasks)
        self.version += 1

    def learn_tasks(self, tasks: Mapping[str, str]) -> None:
        """Take in the same by task name."""
        self.learn(ClusterSpec.of_tasks(tasks))

    async def look_again(self, deadline: Deadline) -> None:
        """Take in what the resolver says, if it is something new: what the server was told since the last
        news holds until then.

        Raises:
            UnavailableError: if it says nothing of use.
            DeadlineExceededError: if it does not answer in time.
        """
        assert self._resolver is not None
        spec = await ask_resolver(self._resolver, deadline)
        if self._cache is None:
            return
        try:
            if spec != self._resolved:
                self.learn(spec)
                self._resolved = spec
            else:  # a master may have told our worker older addresses
                self._teach(self._spec.tasks(self._scheme))
        except (ValueError, InvalidArgumentError, NotFoundError) as exc:
            raise UnavailableError(f"{self._resolver!r} says nothing of use: {exc}") from exc

    def _teach(self, tasks: Mapping[str, str]) -> None:
        """Have the cache learn what is news in addresses of the cluster."""
        assert self._cache is not None
        known = self._cache.addresses
        # Port 0 says that a task has some port, which it or its launcher tells: no news of a known one.
        news = {t: a for t, a in tasks.items() if t not in known or not is_port_0(a)}
        # Others reach this task by the name that its cluster has for it, not by what it has bound.
        own = tasks[self.task]
        self._cache.learn({**news, self.task: self._bound if is_port_0(own) else own})
