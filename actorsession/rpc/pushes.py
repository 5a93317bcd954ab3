"""The values that steps push over one link, in both directions.

Arrays of a device that lends them go as tickets to a process of the same host, which copies them and says so; until
then the connection keeps them, and beyond its end as long as the peer can read them. An array that the peer cannot
read is pushed as one of the host, and so is what follows from that device to the same one.

Invariant: both ends number the keys alike. A key travels as text once; its sender numbers it as it is sent,
and its receiver as it arrives. Keys of lent arrays always travel as text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from actorsession.errors import (
    CancelledError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    UnavailableError,
    from_exception,
)
from actorsession.graph.codec import Buffer, not_encoded
from actorsession.graph.lending import Lent, Loan, taken
from actorsession.messages.step_frames import (
    LEND,
    PUSH,
    REFUSED,
    RETURNED,
    TRACED_PUSH,
    is_moment,
    read_value,
    write_header,
    write_value,
)
from actorsession.plan.rendezvous_key import parse_key
from transports.host import current_host

__all__ = ["LONG_HEADER", "FrameWriter", "PushTimes", "Pushed", "Pushes", "is_bulky", "of_value"]

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


class _LentValue(NamedTuple):
    """What is kept of a value that is lent, until the peer has its copy.

    Attributes:
        loan: keeps the array.
        step_id: the step.
        key: the rendezvous key.
        value: the value, for a peer that refuses it.
    """

    loan: Loan
    step_id: int
    key: str
    value: Lent


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
        self._writer = writer
        self._loans = itertools.count(1)
        self._not_lent: set[tuple[str, str]] = set()  # the devices between which the peer has refused arrays
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
                message = self._lend(message)
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

    def _lend(self, message: Pushed) -> Pushed:
        """Lend the values that can be lent; return what goes by the host, which may be none."""
        items, numbers = list[Any](), list[int]()
        rest = message._replace(keys=[], values=[], dead=[])
        for key, value, dead in zip(message.keys, message.values, message.dead, strict=True):
            if type(value) is Lent:
                try:
                    loan = self._loan(message.step_id, key, value)
                    value = value.on_host() if loan is None else None
                except Exception as exc:
                    self._withdraw(numbers)
                    raise of_value(key, from_exception(exc)) from exc
                if loan is not None:
                    items += (key, *loan)
                    numbers.append(loan[0])
                    continue
            rest.keys.append(key)
            rest.values.append(value)
            rest.dead.append(dead)
        if items:
            try:
                self._send(write_header([LEND, message.step_id, message.sent, message.queued, *items]), ())
            except OpError:
                self._withdraw(numbers)
                raise
            self.sent += 1
        return rest

    def _loan(self, step_id: int, key: str, value: Lent) -> tuple[int, bytes] | None:
        """Lend a value, and return the number and the ticket of the loan; ``None`` if it has to go by the host."""
        lent = self._writer.lent
        loan = None if lent is None or _devices(key) in self._not_lent else value.lend()
        if loan is None or lent is None:
            return None
        number = next(self._loans)
        lent[number] = _LentValue(loan, step_id, key, value)
        return number, loan.ticket

    def _withdraw(self, numbers: Iterable[int]) -> None:
        """Keep what was lent under some numbers no longer, as the peer has not heard of it."""
        lent = self._writer.lent or {}
        for number in numbers:
            lent.pop(number, None)

    def _end_loans(self, numbers: Iterable[int]) -> list[_LentValue]:
        """Keep what was lent under some numbers no longer, and return it.

        Raises:
            ProtocolError: for what is no number of a loan.
        """
        lent, ended = self._writer.lent, list[_LentValue]()
        for number in numbers:
            value = None if lent is None or type(number) is not int else lent.pop(number, None)
            if not isinstance(value, _LentValue):
                raise ProtocolError(f"nothing is lent as number {number!r:.100}, or it was returned before")
            ended.append(value)
        return ended

    def receive_returned(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Drop what the peer does not read any more."""
        self._end_loans(wire[1:])

    def receive_refused(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Push what the peer cannot read by the host."""
        for lent in self._end_loans(wire[1:]):
            self._not_lent.add(_devices(lent.key))
            try:
                self.push(Pushed(lent.step_id, [lent.key], [lent.value], [False]))
            except OpError as error:
                self.on_lost(lent.step_id, error)

    def receive_lent(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Copy what the peer lends, pass it on, and tell the peer that it was copied."""
        self.received += 1
        times = self._times(wire, header, segments)
        named, loans, tickets = wire[4::3], wire[5::3], wire[6::3]
        kinds = {*zip(map(type, named), map(type, loans), map(type, tickets), strict=False)}
        if len(wire) % 3 != 1 or kinds != {(str, int, bytes)}:
            raise ProtocolError(f"a lend has a key, a number and a ticket for each value, found {wire[4:]!r:.100}")
        keys, values, refused, fault = list[str](), list[Any](), list[int](), None
        for key, loan, ticket in zip(named, loans, tickets, strict=True):
            try:
                value = taken(parse_key(key).dst_device, ticket)
            except Exception as exc:
                fault = of_value(key, from_exception(exc), is_sent=False)
                break
            if value is None:
                refused.append(loan)
            else:
                keys.append(key)
                values.append(value)
        if fault is None and not self._writer.reads_peer:
            # The peer may have written to what it did not lend any more, before it was copied.
            fault = of_value(named[0], UnavailableError("the link was lost over which it was lent"), is_sent=False)
        returned = [loan for loan in loans if fault is not None or loan not in refused]
        with suppress(UnavailableError, CancelledError):  # the peer sees the end of the link as well
            if returned:
                self._send(write_header([RETURNED, *returned]), ())
            if refused and fault is None:
                self._send(write_header([REFUSED, *refused]), ())
        if fault is not None:
            self.on_lost(wire[1], fault)
        elif keys:
            self.on_push(wire[1], keys, values, [False] * len(keys), times if times.sent else None)

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


def _devices(key: str) -> tuple[str, str]:
    """Return the devices that a value goes from and to, by its valid key."""
    parsed = parse_key(key)
    return parsed.src_device, parsed.dst_device


def of_value(text: str, error: OpError, *, is_sent: bool = True) -> OpError:
    """Return the error of a value that cannot be sent or taken, with its node and the device that could not.

    Args:
        text: its rendezvous key.
        error: what is wrong.
        is_sent: whether it could not be sent; else the other device could not take it.
    """
    try:
        key = parse_key(text)
    except InvalidArgumentError:  # which the receiver refuses, too
        return error
    what = f"sent to {key.dst_device}" if is_sent else f"taken from {key.src_device}"
    told = type(error)(f"the value of {key.tensor or key.edge_name} cannot be {what}: {error.message}")
    told.__cause__ = error
    node = key.tensor.removeprefix("^").partition(":")[0] or None
    device, task = (key.src_device, key.src_task) if is_sent else (key.dst_device, key.dst_task)
    return told.locate(node=node, device=device, task=task)
