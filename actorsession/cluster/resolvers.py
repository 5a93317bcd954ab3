"""Resolvers: sources of the current addresses of the tasks of a cluster.

A resolver is asked again each time a server starts, creates a session or dials a task whose link is lost, so
a task may come back at another address. ``Server`` and the command line accept one wherever they accept a
``ClusterSpec``. This module has three: a fixed spec, the environment variable ``TF_CONFIG``, and a file;
``slurm_resolver`` and ``kubernetes_resolver`` have those of schedulers. A program may bring its own:
``ClusterResolver`` is a protocol and not a base class.

Invariant: nothing here caches an answer. A resolver may block (on a file, on a request to a scheduler), so
servers ask it through ``ask_resolver``, in a thread and with a limit. Imports specs, deadlines and errors.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from actorsession.actors.deadline import Deadline
from actorsession.checkpoints.atomic import file_errors, read_regular
from actorsession.cluster.spec import ClusterSpec, full_address
from actorsession.config.file_roots import path_text
from actorsession.errors import MissingFileError, NotFoundError, RequestTypeError, RequestValueError, UnavailableError
from actorsession.json_text import read_json_object
from transports.host import current_host

__all__ = [
    "TF_CONFIG",
    "ClusterResolver",
    "DescribedClusterResolver",
    "FileClusterResolver",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "ask_resolver",
]

TF_CONFIG = "TF_CONFIG"
"""The environment variable with cluster and task as JSON."""

# The keys of a description of a cluster; those after ``task`` are TensorFlow's and ours.
_KEYS = frozenset({"cluster", "task", "rpc_layer", "session_master", "environment", "cluster_id"})


@runtime_checkable
class ClusterResolver(Protocol):
    """A source of the tasks of a cluster, and of which of them this process is."""

    def cluster_spec(self) -> ClusterSpec:
        """Return the current tasks and their addresses; may block, and is called in any thread."""

    @property
    def task_type(self) -> str | None:
        """The job of this process; ``None`` if it is not given."""

    @property
    def task_id(self) -> int | None:
        """The index of this process in the job; ``None`` if it is not given."""


class SimpleClusterResolver:
    """A cluster that does not change.

    Args:
        cluster_spec: the cluster.
        master: the result of ``master()`` when no task is given.
        task_type: the job of this process.
        task_id: the index of this process in the job.
        rpc_layer: the scheme that ``master`` prepends to addresses that have none.

    Raises:
        TypeError: if ``cluster_spec`` is not a ``ClusterSpec``, or ``master`` is not a string.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        *,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise RequestTypeError(f"cluster_spec is a ClusterSpec, got {cluster_spec!r:.100}")
        if not isinstance(master, str):
            raise RequestTypeError(f"master is a string, got {master!r:.100}")
        self._spec = cluster_spec
        self._master = master
        self.task_type = task_type
        self.task_id = task_id
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Return the fixed cluster."""
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the target for sessions.

        Args:
            task_type: job of the task that is to be the master; without it, the master that was given.
            task_id: index of that task.
            rpc_layer: scheme, in place of the resolver's.

        Raises:
            ValueError: for an unknown job or task.
        """
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._spec.task_address(task_type, task_id)
        return _url(address, rpc_layer or self.rpc_layer)

    def __repr__(self) -> str:
        return f"SimpleClusterResolver({self._spec!r})"


class DescribedClusterResolver:
    """A resolver that reads a description with cluster and task anew for each request.

    A base class: the description has the form of ``TF_CONFIG``.

    Args:
        task_type: overrides the task's type.
        task_id: overrides the task's index.
        rpc_layer: overrides the described scheme.
    """

    def __init__(self, task_type: str | None, task_id: int | None, rpc_layer: str | None) -> None:
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer

    def _read(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @property
    def _where(self) -> str:
        """The origin of the description, for errors."""
        raise NotImplementedError

    def cluster_spec(self) -> ClusterSpec:
        """Return the current cluster; an empty one if none is described.

        Raises:
            OSError: if the description cannot be read.
            ValueError: if it is not a valid description of a cluster.
            TypeError: likewise.
        """
        cluster = self._read().get("cluster", {})
        try:
            return ClusterSpec(cluster)
        except (TypeError, ValueError) as exc:
            raise type(exc)(f"{self._where}: {exc}") from None

    @property
    def task_type(self) -> str | None:
        """The job of this process."""
        if self._task_type is not None:
            return str(self._task_type)
        kind = self._task().get("type")
        if kind is not None and not isinstance(kind, str):
            raise RequestTypeError(f"{self._where}: the task's type is a string, got {kind!r:.100}")
        return kind

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        """The index of this process in the job."""
        index = self._task_id if self._task_id is not None else self._task().get("index")
        if index is None:
            return None
        if isinstance(index, bool) or not isinstance(index, (int, str)):
            raise RequestTypeError(f"{self._where}: the task's index is a number, got {index!r:.100}")
        with contextlib.suppress(ValueError):
            return int(index)
        raise RequestValueError(f"{self._where}: the task's index is a number, got {index!r:.100}")

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        """The scheme of the cluster's addresses, if it is given."""
        if self._rpc_layer is not None:
            return self._rpc_layer
        layer = self._read().get("rpc_layer")
        return None if layer is None else str(layer)

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    @property
    def cluster_id(self) -> str:
        """The identity of the cluster; "" if none is given."""
        return str(self._read().get("cluster_id") or "")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """Return the target for sessions; "" for a cluster of at most one task, which needs no other.

        Args:
            task_type: job of the task that is to be the master; by default the job of this process.
            task_id: index of that task; by default the index of this process.
            rpc_layer: scheme, in place of the described one.

        Raises:
            ValueError: for an unknown job or task.
        """
        named = self._read().get("session_master")
        if named is not None:
            return str(named)
        spec = self.cluster_spec()
        if len(spec.tasks()) < 2:
            return ""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        if job is None or index is None:
            raise RequestValueError(f"{self._where} does not say which task this is; give task_type and task_id")
        return _url(spec.task_address(job, index), rpc_layer or self.rpc_layer)

    def _task(self) -> Mapping[str, Any]:
        task = self._read().get("task")
        if task is not None and not isinstance(task, Mapping):
            raise RequestTypeError(f'{self._where}: the task is an object with "type" and "index", got {task!r:.100}')
        return task or {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._where})"


class TFConfigClusterResolver(DescribedClusterResolver):
    """The cluster that the environment variable ``TF_CONFIG`` describes.

    It is JSON: ``{"cluster": {"worker": ["host:port", ...], ...}, "task": {"type": "worker", "index": 0}}``.
    A variable that is not set, or empty, describes no cluster.

    Args:
        task_type: overrides the task's type.
        task_id: overrides the task's index.
        rpc_layer: overrides the described scheme.
    """

    def __init__(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> None:
        super().__init__(task_type, task_id, rpc_layer)

    @property
    def _where(self) -> str:
        return TF_CONFIG

    def _read(self) -> Mapping[str, Any]:
        text = os.environ.get(TF_CONFIG)
        return _json(text, TF_CONFIG) if text else {}


class FileClusterResolver(DescribedClusterResolver):
    """The cluster that a file describes, which may change at any time.

    The file has the form of ``TF_CONFIG``, as TOML if its name ends in ``.toml`` and as JSON otherwise. To
    change it, write another file and rename it, so that no reader sees half of it.

    Args:
        path: the file.
        task_type: overrides the task's type, so that one file serves all tasks.
        task_id: overrides the task's index.
        rpc_layer: overrides the described scheme.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        super().__init__(task_type, task_id, rpc_layer)
        self.path = Path(path_text(path))

    @property
    def _where(self) -> str:
        return str(self.path)

    def _read(self) -> Mapping[str, Any]:
        try:
            with file_errors(f"cannot read {self._where!r}"):
                text = read_regular(self.path).decode()
        except NotFoundError as exc:
            raise MissingFileError(exc.message) from exc
        except UnicodeDecodeError as exc:
            raise RequestValueError(f"{self._where} is no UTF-8: {exc.reason} at byte {exc.start}") from None
        if self.path.suffix != ".toml":
            description = _json(text, self._where)
        else:
            import tomllib  # takes as long to import as this package

            try:
                description = tomllib.loads(text)
            except (ValueError, RecursionError) as exc:
                raise RequestValueError(f"{self._where} is not TOML: {exc}") from None
        unknown = sorted(description.keys() - _KEYS)
        if unknown:
            raise RequestValueError(f"{self._where}: {unknown} mean nothing here; {sorted(_KEYS)} do")
        return description


def _json(text: str, where: str) -> Mapping[str, Any]:
    return read_json_object(text, where, 'an object with "cluster" and "task"')


def _url(address: str, scheme: str | None) -> str:
    return full_address(address, scheme) if scheme and address else address


async def ask_resolver(resolver: ClusterResolver, deadline: Deadline) -> ClusterSpec:
    """Ask a resolver in a thread of its own.

    A resolver that hangs keeps its thread until the process ends; nothing waits for it.

    Raises:
        UnavailableError: if the resolver fails; includes its error.
        DeadlineExceededError: if it does not answer in time.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[ClusterSpec] = loop.create_future()

    def settle(spec: ClusterSpec | None, error: Exception | None) -> None:
        if answer.done():
            return
        if spec is not None:
            answer.set_result(spec)
        else:
            reason = f"{type(error).__name__}: {error}"
            answer.set_exception(UnavailableError(f"{resolver!r} was asked in vain: {reason}"))

    def ask() -> None:
        spec, error = None, None
        try:
            spec = ClusterSpec(resolver.cluster_spec())
        except Exception as exc:
            error = exc
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, spec, error)

    current_host().processes.start_thread(ask, f"ask {resolver!r:.60}")
    return await deadline.wait(answer, what=f"an answer of {resolver!r}")
