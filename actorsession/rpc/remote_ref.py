"""Refs to actors at the other end of a link.

``RemoteRef`` has the interface of ``Ref``; the holder of a link makes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.rpc.link import Link

__all__ = ["RemoteRef"]


class RemoteRef:
    """A ref to an actor of another process.

    Args:
        link: the link to the process; the ref is unusable when the link has ended.
        target: the actor's name at the other end.
    """

    __slots__ = ("link", "target")

    def __init__(self, link: Link, target: str) -> None:
        self.link = link
        self.target = target

    @property
    def name(self) -> str:
        """The target and the task that serves it."""
        return f"{self.target} of {self.link.peer_name}"

    def ask(self, message: Any, deadline: Deadline | None = None) -> Coroutine[Any, Any, Any]:
        """See ``Ref.ask`` and ``Link.ask``."""
        return self.link.ask(self.target, message, deadline)

    def submit(self, message: Any, context: CallContext) -> asyncio.Future[Any]:
        """See ``Ref.submit`` and ``Link.submit``."""
        return self.link.submit(self.target, message, context.deadline)

    def tell(self, message: Any) -> None:
        """See ``Ref.tell`` and ``Link.tell``."""
        self.link.tell(self.target, message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteRef) and (other.link, other.target) == (self.link, self.target)

    def __hash__(self) -> int:
        return hash((self.link, self.target))

    def __repr__(self) -> str:
        return f"<RemoteRef to {self.name} over {self.link!r}>"
