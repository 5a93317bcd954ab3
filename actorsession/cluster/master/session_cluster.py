"""The cluster as one session uses it: its tasks, the links to them, and the devices that they may give.

A session uses the cluster of its master, or one that its client brought along. Its settings filter tasks and
devices. Owned by the plans of a ``MasterSession``; imports the types of membership.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from actorsession.cluster.master.env import MasterEnv, Member, brought_along, described_devices
from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.plan.device_set import DeviceSet
from actorsession.runtime.device_filters import DeviceFilters

__all__ = ["SessionCluster"]


class SessionCluster:
    """The cluster of one session.

    Args:
        handle: the handle of the session.
        config: the session's settings: device filters, isolation, a cluster of its own.
        env: the environment of the master.
        target: the address that the client connected to, as the client wrote it.

    Attributes:
        handle: the handle of the session.
        config: its settings.
        env: the environment of the master.
        target: the address that the client connected to.
        own: the cluster that the client brought along; ``None`` without one.
        is_private: whether the session's variables are private to it.
        links: the links to the tasks; with a cluster of the session's own, ``connect`` takes some for it.

    Raises:
        InvalidArgumentError: for a malformed device filter, or if the session has a cluster of its own and
            the target is not exactly one task of it.
    """

    def __init__(self, handle: str, config: ConfigProto, env: MasterEnv, target: str) -> None:
        self.handle, self.config, self.env, self.target = handle, config, env, target
        self._filters = DeviceFilters(config.device_filters)
        self.own = brought_along(config, env, target)
        shared = config.experimental.share_session_state_in_clusterspec_propagation
        self.is_private = not shared and (config.isolate_session_state or self.own is not None)
        self.links = env.workers

    @property
    def task(self) -> str:
        """The master's own task, by its name in this session."""
        return self.env.task if self.own is None else self.own.task

    @property
    def master_name(self) -> str:
        """The name by which workers tell masters apart; two clusters of clients may use one task name."""
        own = self.own
        return self.task if own is None else f"{own.task} at {own.tasks[own.task]}"

    def connect(self) -> None:
        """Take links of the session's own, if it has a cluster of its own."""
        own = self.own
        if own is not None:
            self.links = self.env.workers.for_session(self.handle, own.task, own.tasks)

    def release(self) -> None:
        """Release the links of the session's own."""
        if self.links is not self.env.workers:
            self.links.release()

    def may_come_back(self, task: str) -> bool:
        """Return whether a task that was lost may be started again."""
        cluster = self.env.cluster
        return self.own is None and task in cluster.tasks() and task not in cluster.given_up

    def _tasks(self) -> Mapping[str, str]:
        return self.env.cluster.tasks() if self.own is None else self.own.tasks

    def wanted(self) -> dict[str, str]:
        """Return the address of each task that the session may use."""
        # The device filters never exclude the master's own task.
        tasks = self._tasks()
        return {t: a for t, a in tasks.items() if t == self.task or self._filters.allows(t)}

    def group_leader(self) -> str:
        """Return the task that leads the groups in which steps of several sessions meet.

        It is the one that the settings name, else the first of the cluster; device filters do not apply.

        Raises:
            InvalidArgumentError: for a malformed name, or if the cluster has no such task.
        """
        tasks, leader = self._tasks(), self.config.experimental.collective_group_leader
        if not leader:
            return next(iter(tasks))
        try:
            spec = DeviceSpec.parse(leader)
        except ValueError as exc:
            raise InvalidArgumentError(f"collective_group_leader: {exc}") from exc
        name = f"/job:{spec.job}/replica:{spec.replica or 0}/task:{spec.task or 0}"
        if name not in tasks:
            raise InvalidArgumentError(
                f"collective_group_leader={leader!r} is no task of the cluster, which has {', '.join(tasks)}"
            )
        return name

    def devices_of(self, tasks: Iterable[str], members: Mapping[str, Member]) -> DeviceSet:
        """Return the devices of all tasks, members or absent, in the order of the cluster.

        Raises:
            InvalidArgumentError: if two of them have one name.
        """
        known = {task: members[task].found.devices if task in members else described_devices(task) for task in tasks}
        allowed = [
            device
            for task, devices in known.items()
            for device in devices
            if task == self.task or self._filters.allows(device.name)
        ]
        return DeviceSet(allowed, next(d.name for d in known[self.task] if d.device_type == "CPU"))
