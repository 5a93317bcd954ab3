"""Envelopes: the values that travel between two ends of a link, around the messages.

The module holds the six kinds of envelope as frozen values. Links make and read them; ``codec`` encodes
them. A call id is chosen by the asking end and is unique among its calls on one link.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["Beat", "Call", "Cancel", "Envelope", "Failure", "Reply", "Tell"]


@dataclass(frozen=True, slots=True)
class Call:
    """A message that requires an answer.

    Attributes:
        call_id: at least 0, below 2**63.
        target: name of the actor at the other end.
        time_left: seconds until the caller's deadline, at the moment of sending; ``None`` for no limit.
        message: a registered message with a reply.
    """

    call_id: int
    target: str
    time_left: float | None
    message: Any


@dataclass(frozen=True, slots=True)
class Tell:
    """A message without an answer.

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
        call_id: the id of the call.
        message: of the reply class of the call's message.
    """

    call_id: int
    message: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of a call.

    Attributes:
        call_id: the id of the call.
        error: the cause; it keeps its class and its origin on the wire.
    """

    call_id: int
    error: OpError


@dataclass(frozen=True, slots=True)
class Cancel:
    """The withdrawal of a call; unknown and finished calls are not an error.

    Attributes:
        call_id: the id of the call.
    """

    call_id: int


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat; some of them ask for one in return, which measures the round trip.

    Attributes:
        asks: a number that the answer is to have; 0 for no answer.
        answers: that number of the heartbeat that it answers; 0 for none.
    """

    asks: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Goodbye:
    """The reason for the end of the connection, which follows.

    Attributes:
        reason: a sentence, in which the sender is named.
    """

    reason: str


Envelope: TypeAlias = Call | Tell | Reply | Failure | Cancel | Beat | Goodbye
