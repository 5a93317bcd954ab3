"""The arrays that are lent over one link, in both directions; ``pushes`` calls this.

A process of the same host copies an array by its ticket and says so. Until then the connection keeps the array, and
beyond its end as long as the peer can read it. What the peer cannot read goes by the host, and so does what follows
from that device to the same one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.errors import (
    CancelledError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    UnavailableError,
    from_exception,
)
from actorsession.graph.lending import Lent, Loan, taken
from actorsession.messages.step_frames import LEND, REFUSED, RETURNED, write_header
from actorsession.plan.rendezvous_key import parse_key

if TYPE_CHECKING:
    from actorsession.rpc.pushes import FrameWriter, Pushed

__all__ = ["Loans", "of_value"]


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


class Loans:
    """The arrays that are lent over one link.

    Args:
        writer: sends the frames, and has the table of what is lent.
    """

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self._numbers = itertools.count(1)
        self._not_lent: set[tuple[str, str]] = set()  # the devices between which the peer has refused arrays

    # -- this end lends ------------------------------------------------------------------------

    def lend(self, message: Pushed) -> tuple[Pushed, bool]:
        """Lend the values that can be lent; return what goes by the host, which may be none, and whether any were lent.

        Raises:
            OpError: the link has ended, or a value can be neither lent nor made one of the host.
        """
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
                self._writer.write(write_header([LEND, message.step_id, message.sent, message.queued, *items]), ())
            except OpError:
                self._withdraw(numbers)
                raise
        return rest, bool(items)

    def _loan(self, step_id: int, key: str, value: Lent) -> tuple[int, bytes] | None:
        """Lend a value, and return the number and the ticket of the loan; ``None`` if it has to go by the host."""
        lent = self._writer.lent
        loan = None if lent is None or _devices(key) in self._not_lent else value.lend()
        if loan is None or lent is None:
            return None
        number = next(self._numbers)
        lent[number] = _LentValue(loan, step_id, key, value)
        return number, loan.ticket

    def _withdraw(self, numbers: Iterable[int]) -> None:
        """Keep what was lent under some numbers no longer, as the peer has not heard of it."""
        lent = self._writer.lent or {}
        for number in numbers:
            lent.pop(number, None)

    def end(self, numbers: Iterable[int]) -> list[_LentValue]:
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

    def refuse(self, numbers: Iterable[int]) -> list[tuple[int, str, Lent]]:
        """Lend nothing more between the devices of what the peer cannot read; return its steps, keys and values.

        Raises:
            ProtocolError: for what is no number of a loan.
        """
        refused = self.end(numbers)
        self._not_lent.update([_devices(lent.key) for lent in refused])
        return [(lent.step_id, lent.key, lent.value) for lent in refused]

    # -- the peer lends ------------------------------------------------------------------------

    def take(self, items: Sequence[Any]) -> tuple[list[str], list[Any], OpError | None]:
        """Copy what the peer lends, and tell it what was copied and what cannot be read.

        Args:
            items: key, number and ticket of each array.

        Returns:
            The keys and the copies; and the error of the step, if an array cannot be copied.

        Raises:
            ProtocolError: for items of another form.
        """
        named, loans, tickets = items[::3], items[1::3], items[2::3]
        kinds = {*zip(map(type, named), map(type, loans), map(type, tickets), strict=False)}
        if len(items) % 3 or kinds != {(str, int, bytes)}:
            raise ProtocolError(f"a lend has a key, a number and a ticket for each value, found {items!r:.100}")
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
        if fault is not None:
            refused.clear()
        returned = [loan for loan in loans if loan not in refused]
        with suppress(UnavailableError, CancelledError):  # the peer sees the end of the link as well
            if returned:
                self._writer.write(write_header([RETURNED, *returned]), ())
            if refused:
                self._writer.write(write_header([REFUSED, *refused]), ())
        return keys, values, fault


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
