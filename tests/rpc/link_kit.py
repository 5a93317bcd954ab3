"""What several tests of links send and start."""

from __future__ import annotations

import asyncio
from typing import Any

from actorsession.actors import Children
from actorsession.messages import encode
from actorsession.rpc import Link
from transports import Frame

__all__ = ["frame_of", "start"]


def frame_of(envelope: Any) -> Frame:
    """A message as it travels."""
    return Frame(*encode(envelope))


async def start(link: Link, owner: Children) -> None:
    """Begins to receive, in a child of the owner."""
    _ = owner.start(link.run(), name=repr(link))
    await asyncio.sleep(0)
