"""Chains of futures: one ends as another does."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["chain"]


def chain(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    """End ``target`` as ``source`` ends: with its result, its error, or cancelled.

    Cancelling ``target`` does not cancel ``source``; the error of a source whose target has ended is dropped.
    """

    def ended(source: asyncio.Future[Any]) -> None:
        if target.done():
            if not source.cancelled():
                _ = source.exception()  # retrieved, so that asyncio does not log it
        elif source.cancelled():
            target.cancel()
        elif (error := source.exception()) is not None:
            target.set_exception(error)
        else:
            target.set_result(source.result())

    source.add_done_callback(ended)
