"""The values that steps push over one link, in both directions.

Arrays of a device that lends them go as tickets to a process of the same host, see ``loans``.

Invariant: both ends number the keys alike. A key travels as text once; its sender numbers it as it is sent,
and its receiver as it arrives. Keys of lent arrays always travel as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from actorsession.errors import OpError, ProtocolError
from actorsession.graph.codec import Buffer, not_encoded
from actorsession.graph.lending import Lent
from actorsession.messages.step_frames import PUSH, TRACED_PUSH, is_moment, read_value, write_header, write_value
from actorsession.rpc.loans import Loans
from transports.host import current_host

__all__ = ["LONG_HEADER", "FrameWriter", "PushTimes", "Pushed", "Pushes", "is_bulky"]

# Keys that a link numbers, a few hundred bytes each. Those of further programs travel as text.
MAX_KEYS = 65_536

_NUMBERS_ALONE = {int}

LONG_HEADER = 64 * 2**10
"""Bytes of a header above which its frame goes by the bulk lane."""


def is_bulky(header: Buffer, segments: Sequence[Buffer]) -> bool:
    """Return whether a frame goes by the bulk lane of a connection, where others overtake it.

    All frames with segments do, and long headers, which graphs have; no urgent message is that long.
    """
    return bool(segments) or len(header) > LONG_HEADER


class FrameWriter(Protocol):
    """Sends step frames over a link."""

    def write(self, header: bytes, segments: Sequence[Buffer]) -> None:
        """Send the header of a frame with its segments.

        Raises:
            UnavailableError: the link has ended; ``CancelledError`` if this end has closed it.
        """

    @property
    def write_short(self) -> Callable[[bytes], bool]:
        """Sends a short header without segments while the link has not ended; returns whether it did.

        If it did not, ``write`` does.
        """

    @property
    def write_from_thread(self) -> Callable[[bytes], bool]:
        """Sends a header at once, in any thread; returns whether it did."""

    @property
    def lent(self) -> dict[int, object] | None:
        """What is lent to the peer, by number; see ``Connection.lent``."""

    @property
    def reads_peer(self) -> bool:
        """Whether what the peer has lent is there; see ``Connection.reads_peer``."""


class Pushed(NamedTuple):
    """Values on their way to the rendezvous of one step at another task; one entry of each list per value.

    Attributes:
        step_id: the step; it may not have begun at the receiver yet.
        keys: rendezvous keys in text form.
        values: the values, borrowed; ``None`` for a dead tensor.
        dead: whether the value is a dead tensor (on the branch not taken).
        sent: wall-clock seconds at which they are sent, if the step is traced; else 0.
        queued: bytes that were unsent on the link then.
    """

    step_id: int
    keys: list[str]
    values: list[Any]
    dead: list[bool]
    sent: float = 0.0
    queued: int = 0


class PushTimes(NamedTuple):
    """When values of a traced step were pushed.

    Attributes:
        sent: wall-clock seconds of the sender.
        queued: bytes that were unsent on the link before them.
        arrived: wall-clock seconds at which they were read here.
        nbytes: the size of their frame.
    """

    sent: float
    queued: int
    arrived: float
    nbytes: int


class Pushes:
    """The pushed values of one link.

    Args:
        writer: sends the frames.

    Attributes:
        sent: how many times values were pushed to the peer.
        received: how many times the peer has pushed values.
        is_over: whether the link has ended.
        on_push: takes the step id, keys, values and marks of dead tensors that the peer has pushed, and of a traced
            step the times; set before the link runs, as the next one.
        on_lost: takes the step id and the error of a push for which there was no memory.
    """

    def __init__(self, writer: FrameWriter) -> None:
        self._send = writer.write
        self._send_short = writer.write_short
        self._loans = Loans(writer)
        self._keys_sent: dict[str, int] = {}
        self._keys_received: dict[int, str] = {}
        self._texts_received: dict[str, None] = {}
        self.on_push: Callable[[int, Sequence[str], Sequence[Any], Sequence[bool], PushTimes | None], None]
        self.on_lost: Callable[[int, OpError], None]
        self.is_over = False
        self.sent = self.received = 0

    def push(self, message: Pushed) -> None:
        """Send values to the rendezvous of a step at the peer.

        Raises:
            OpError: the link has ended, or the values cannot be sent.
        """
        items: list[Any] = [PUSH, message.step_id]
        segments: list[Buffer] = []
        try:
            if Lent in map(type, message.values):
                message, is_lent = self._loans.lend(message)
                self.sent += is_lent
                if not message.keys:
                    return
            keys = message.keys
            number = self._keys_sent.get(keys[0]) if len(keys) == 1 and not message.sent else None
            if number is not None and not message.dead[0]:
                # Most pushes: one value, under a key that the peer knows.
                items.append(number)
                write_value(message.values[0], items, segments)
                header = write_header(items)
                if segments or self.is_over or not self._send_short(header):
                    self._send(header, segments)
                self.sent += 1
            else:
                self._push(message, items, segments)
        except OpError:
            raise
        except Exception as exc:
            raise not_encoded(exc) from exc

    def _push(self, message: Pushed, items: list[Any], segments: list[Buffer]) -> None:
        number_of, new = self._keys_sent.get, False
        if message.sent:
            items[0] = TRACED_PUSH
            items += (message.sent, message.queued)
        for key, value, dead in zip(message.keys, message.values, message.dead, strict=True):
            numbered: int | str | None = number_of(key)
            if numbered is None:
                numbered, new = key, True
            items.append(numbered)
            if dead:
                items += (None, None)
            else:
                write_value(value, items, segments)
        header = write_header(items)
        self._send(header, segments)
        self.sent += 1
        # Other frames arrive in the order in which they are sent: a number that a bulky one has defined might
        # be used before it arrives.
        if new and not is_bulky(header, segments):
            self._number(message.keys)

    # -- values that are lent ------------------------------------------------------------------

    def receive_lent(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Copy what the peer lends, pass it on, and tell the peer that it was copied."""
        self.received += 1
        times = self._times(wire, header, segments)
        keys, values, fault = self._loans.take(wire[4:])
        if fault is not None:
            self.on_lost(wire[1], fault)
        elif keys:
            self.on_push(wire[1], keys, values, [False] * len(keys), times if times.sent else None)

    def receive_returned(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Drop what the peer does not read any more."""
        self._loans.end(wire[1:])

    def receive_refused(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Push what the peer cannot read by the host."""
        for step_id, key, value in self._loans.refuse(wire[1:]):
            try:
                self.push(Pushed(step_id, [key], [value], [False]))
            except OpError as error:
                self.on_lost(step_id, error)

    # -- what arrives --------------------------------------------------------------------------

    def receive_traced(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Pass on what the peer has pushed for a traced step, with its times."""
        times = self._times(wire, header, segments)
        del wire[2:4]
        self.receive(wire, header, segments, times)

    def _times(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> PushTimes:
        """Return the times of a push, which has them behind its step."""
        arrived = current_host().clock.time()
        sent, queued = wire[2:4] if len(wire) > 3 else (0.0, -1)
        if not is_moment(sent) or type(queued) is not int or queued < 0:
            raise ProtocolError(f"a traced push has a moment and a number of bytes, found {(sent, queued)!r:.100}")
        return PushTimes(sent, queued, arrived, len(header) + sum(map(len, segments)))

    def receive(
        self, wire: list[Any], header: Buffer, segments: Sequence[Buffer], times: PushTimes | None = None
    ) -> None:
        """Pass on what the peer has pushed."""
        self.received += 1
        if len(wire) == 5 and type(wire[2]) is int and times is None:  # most pushes: one value, under a numbered key
            text = self._keys_received.get(wire[2])
            if text is None:
                raise self._unknown_key(wire[2:3])
            content = wire[4]
            value = read_value(wire[3], content, segments)
            self.on_push(wire[1], [text], [value], [content is None], None)
            return
        if len(wire) % 3 != 2:
            raise ProtocolError(f"a push has three items for each value, found {len(wire) - 2}")
        named, contents = wire[2::3], wire[4::3]
        # Pushes but the first have numbers alone. ``True`` and 1.0 are none, but would be found as 1.
        if is_new := {*map(type, named)} != _NUMBERS_ALONE:
            keys = [self._key(key) for key in named]
        else:
            try:
                keys = list(map(self._keys_received.__getitem__, named))
            except KeyError:
                raise self._unknown_key(named) from None
        if is_new and not is_bulky(header, segments):
            self._learn(keys)  # first: the sender numbers them whether there is memory for the values or not
        values = list(map(read_value, wire[3::3], contents, repeat(segments)))
        dead = [content is None for content in contents] if None in contents else [False] * len(keys)
        self.on_push(wire[1], keys, values, dead, times)

    def _key(self, key: Any) -> str:
        """Return the text of a key that was received as text or as its number."""
        if type(key) is str:
            return key
        text = self._keys_received.get(key) if type(key) is int else None
        if text is None:
            raise self._unknown_key([key])
        return text

    def _unknown_key(self, named: Sequence[Any]) -> ProtocolError:
        wrong = [key for key in named if type(key) is not int or key not in self._keys_received]
        return ProtocolError(f"a key is text or one of {len(self._keys_received)} numbers, found {wrong[0]!r:.100}")

    def _number(self, keys: Iterable[str]) -> None:
        """Number the keys that were sent as text, as the receiver does."""
        for key in keys:
            if len(self._keys_sent) < MAX_KEYS:
                self._keys_sent.setdefault(key, len(self._keys_sent))

    def _learn(self, keys: Iterable[str]) -> None:
        """Number the keys that were received as text, as their sender does."""
        for key in keys:
            if len(self._keys_received) < MAX_KEYS and key not in self._texts_received:
                self._texts_received[key] = None
                self._keys_received[len(self._keys_received)] = key
