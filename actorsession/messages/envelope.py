"""Envelopes: what travels between two ends of a link around the messages.

Owns the six kinds of envelope as frozen values. Links make and read them; ``codec`` turns them into
bytes. A call id is chosen by the asking end and is unique among its calls on one link.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["Beat", "Call", "Cancel", "Envelope", "Failure", "Reply", "Tell"]


@dataclass(frozen=True, slots=True)
class Call:
    """A message that wants an answer.

    Attributes:
        call_id: at least 0, below 2**63.
        target: name of the actor at the other end.
        time_left: seconds until the asker gives up, at the moment of sending; ``None`` for no
            limit.
        message: a registered message with a reply.
    """

    call_id: int
    target: str
    time_left: float | None
    message: Any


@dataclass(frozen=True, slots=True)
class Tell:
    """A message that wants no answer.

    Attributes:
        target: name of the actor at the other end.
        message: a registered message.
    """

    target: str
    message: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call.

    Attributes:
        call_id: the call's.
        message: of the class that the call's message names as its reply.
    """

    call_id: int
    message: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """A call has failed.

    Attributes:
        call_id: the call's.
        error: why; keeps its class and its origin on the wire.
    """

    call_id: int
    error: OpError


@dataclass(frozen=True, slots=True)
class Cancel:
    """The asker no longer wants the answer; unknown and finished calls are no error.

    Attributes:
        call_id: the call's.
    """

    call_id: int


@dataclass(frozen=True, slots=True)
class Beat:
    """Nothing but a sign of life."""


Envelope: TypeAlias = Call | Tell | Reply | Failure | Cancel | Beat
