"""What rows need of a side: the module that programs are written with, sessions with servers, and clusters.

actorsession has TensorFlow's names, so each row is one program, which is given a ``Library``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .case import Case

__all__ = ["Call", "Cluster", "Library", "RemoteSession"]


class RemoteSession(Protocol):
    """A session with a server, in the form that is fastest with the library."""

    def run(self, fetches: Any, feeds: Any = None) -> Any:
        """Run a step and return what is fetched."""
        ...

    def close(self) -> Any:
        """Close it."""
        ...


Call = tuple[RemoteSession, Any, Any]
"""A session, what it fetches, and what it feeds."""


class Cluster(Protocol):
    """Parameter servers and workers, each a process.

    Attributes:
        spec: the addresses by job, in the form that the library's device setter takes.
    """

    spec: Any

    def target(self, worker: int = 0) -> str:
        """Return the target of sessions that have a worker as their master."""
        ...

    def pid(self, worker: int) -> int:
        """Return the process of a worker."""
        ...

    def stop(self) -> None:
        """End all processes."""
        ...


class Library(Protocol):
    """One side.

    Attributes:
        tf: the module with TensorFlow's names.
    """

    tf: Any

    def start(self, workers: int = 2, *, ps: int = 1) -> Cluster:
        """Start a cluster, which its caller stops."""
        ...

    def running(self, workers: int = 2, *, ps: int = 1, shared: bool = True) -> Cluster:
        """Return a cluster that stays for other rows.

        Args:
            workers: the number of workers.
            ps: the number of parameter servers.
            shared: whether its processes may share memory.
        """
        ...

    def servers(self, count: int) -> AbstractContextManager[str]:
        """Run workers in this process, and return the target of the first."""
        ...

    def remote_session(self, target: str, graph: Any) -> RemoteSession:
        """Return a session with a server."""
        ...

    def local_session(self, graph: Any, plans: int) -> Any:
        """Return a session in this process that keeps so many plans."""
        ...

    def remote_case(
        self,
        session: RemoteSession,
        fetches: Any,
        feeds: Any = None,
        *,
        answers: Callable[[], Sequence[Any]] | None = None,
        closes: Callable[[], object] | None = None,
        collective: bool = False,
    ) -> Case:
        """Return the case of a step of a session.

        Args:
            session: the session.
            fetches: what a step fetches.
            feeds: what it feeds.
            answers: returns the answer; what a step fetches if left out, which may be a list.
            closes: releases the row's resources; closes the session if left out.
            collective: whether the step has a collective.
        """
        ...

    def together_case(
        self, calls: Sequence[Call], times: int, answers: Callable[[], Sequence[Any]] | None = None
    ) -> Case:
        """Return the case of sessions with several steps at a time, which it closes.

        Args:
            calls: those that are made at the same time.
            times: how often each is made after itself.
            answers: returns the answer; that of the last calls if left out.
        """
        ...

    def all_reduce(self, tasks: int, key: int) -> Callable[[Any], Any]:
        """Return what makes the sum over all tasks of one's value, in a graph of its own.

        Args:
            tasks: the number of tasks.
            key: a number that other collectives do not have.
        """
        ...

    def close(self) -> None:
        """Stop the clusters that stayed."""
        ...
