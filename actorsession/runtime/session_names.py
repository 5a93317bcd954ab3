"""The names and versions of the living sessions of one place, of which no two may be equal.

A session may have a name and version (``session_metadata``), for processes that serve several models. Whoever
makes sessions owns a ``SessionNames``: the factory of direct sessions for the whole process, each master for
itself. A name is free again once its session is closed or gone, so nobody has to return it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from actorsession.config import SessionMetadata
from actorsession.errors import InvalidArgumentError

__all__ = ["SessionNames", "check_version"]


class _Closable(Protocol):
    @property
    def closed(self) -> bool: ...


S = TypeVar("S", bound=_Closable)


def check_version(metadata: SessionMetadata | None) -> None:
    """Check the version of a session.

    Raises:
        InvalidArgumentError: if it is negative.
    """
    if metadata is not None and metadata.version < 0:
        raise InvalidArgumentError(
            f"the version of a session is at least 0, got {metadata.version} for {metadata.name!r}"
        )


class SessionNames(Generic[S]):
    """The names and versions of living sessions; the caller provides for one call at a time."""

    def __init__(self) -> None:
        self._sessions: weakref.WeakValueDictionary[tuple[str, int], S] = weakref.WeakValueDictionary()

    def check(self, metadata: SessionMetadata | None, replaces: Callable[[S], bool] = lambda session: False) -> None:
        """Check that a new session may have a name and version.

        Args:
            metadata: the name and version; ``None`` if the session has none.
            replaces: whether the new session takes the place of a living one, and so may have its name.

        Raises:
            InvalidArgumentError: for a negative version, and for a name and version that a living session
                has.
        """
        check_version(metadata)
        if metadata is None:
            return
        holder = self._sessions.get((metadata.name, metadata.version))
        if holder is not None and not holder.closed and not replaces(holder):
            raise InvalidArgumentError(
                f"a session named {metadata.name!r} with version {metadata.version} lives already: "
                "close it first, or give this one another version"
            )

    def add(self, metadata: SessionMetadata | None, session: S) -> None:
        """Give a name and version that were checked to a session."""
        if metadata is not None:
            self._sessions[metadata.name, metadata.version] = session
