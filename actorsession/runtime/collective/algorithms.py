"""The exchanges of one member with the others of its group, as plain synchronous code over a rendezvous.

Small values are exchanged directly: each member sends its value to all others and merges what arrives in the
order of ranks, so that all get the same bits. Large ones go round a ring in chunks: first each member
merges and passes on, until each has one part of the result (reduce-scatter); then the parts go round
(all-gather). A member sends and receives ``2 * (size - 1) / size`` times its value, whatever the size of the
group (Patarasuk and Yuan, 2009), and holds its result and a few chunks.

The first value to each member has a header beside it, or before it in one array, that says what the sender
takes part in, so that members which do not agree fail and never wait for each other.

Values are borrowed from their senders: a member neither writes to what it was given nor, before it was
delivered, to what it has sent. The result of a ring may still be on its way to the next member when it is
complete, so the ops are marked as aliases.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from actorsession.errors import InternalError, InvalidArgumentError, OpError, from_exception
from actorsession.graph.collective_call import (
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    Collective,
    CollectiveCall,
)
from actorsession.graph.registry import Array
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime.collective.buffers import BufferPool
from actorsession.runtime.collective.groups import Group
from actorsession.runtime.rendezvous import Arrival, Rendezvous

__all__ = ["CHUNK_BYTES", "DIRECT_BYTES", "Exchange", "exchange_for"]

DIRECT_BYTES = 2**20
"""Values are exchanged directly if each member sends no more than this: hops of a ring would take longer."""
CHUNK_BYTES = 4 * 2**20
"""Size of the chunks that go round a ring."""
# Bytes up to which a value follows its header in one array: copying them takes less than a second value.
_JOINED_BYTES = 2**16
# The header's length is a multiple of this, so that what follows it is aligned.
_ALIGNMENT = 16
# Chunks of its own that a member has in the ring at a time: one is merged while the next is on its way.
_WINDOW = 2

_MERGES: dict[str, np.ufunc] = {"Add": np.add, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum}


class Exchange:
    """One member's part in one execution of an instance.

    Args:
        call: the node's call; completed with its result.
        group: the members.
        device: this member.
        rendezvous: the values pass through it.
        number: how often the instance was executed there before.
        buffers: memory for a large result.
    """

    def __init__(
        self, call: CollectiveCall, group: Group, device: str, rendezvous: Rendezvous, number: int, buffers: BufferPool
    ) -> None:
        self.call = call
        self.group = group
        self.rank = group.ranks[device]
        self.size = len(group.members)
        self._rendezvous = rendezvous
        self._buffers = buffers
        c = call.collective
        self._name = f"collective {c.group}.{c.instance}.{number}"
        self._waiting: dict[str, Callable[[Arrival | OpError], None]] = {}

    def begin(self) -> None:
        """Send what can be sent at once, and wait for the rest."""
        raise NotImplementedError

    def _others(self) -> Sequence[int]:
        return [rank for rank in range(self.size) if rank != self.rank]

    def awaited(self) -> tuple[str, ...]:
        """Return the devices of the members that values are awaited from."""
        return tuple(dict.fromkeys(key.partition(";")[0] for key in self._waiting))

    # -- values ----------------------------------------------------------------------------------

    def send(self, rank: int, what: str, value: Any) -> None:
        """Send a value to a member."""
        me, other = self.group.members[self.rank], self.group.members[rank]
        key = build_key(me.device, me.incarnation, other.device, f"{self._name} {what}")
        self._rendezvous.send(key, value)

    def receive(self, rank: int, what: str, then: Callable[[Any], None]) -> None:
        """Call ``then`` with a value from a member; errors complete the call."""
        if self.call.done:
            return
        me, other = self.group.members[self.rank], self.group.members[rank]
        key = build_key(other.device, other.incarnation, me.device, f"{self._name} {what}")

        def arrived(outcome: Arrival | OpError) -> None:
            self._waiting.pop(key, None)
            if self.call.done:
                return
            if isinstance(outcome, OpError):
                self.fail(outcome)
                return
            try:
                then(outcome.value)
                self._rendezvous.flush()
            except Exception as exc:
                self.fail(from_exception(exc))

        self._waiting[key] = arrived
        self._rendezvous.recv_async(key, arrived)

    def stop(self) -> None:
        """Wait for nothing more."""
        waiting, self._waiting = self._waiting, {}
        for key, waiter in waiting.items():
            self._rendezvous.forget(key, waiter)

    def fail(self, error: OpError) -> None:
        """Complete the call with an error."""
        self.stop()
        self.call.fail(error)

    # -- agreement -------------------------------------------------------------------------------

    def header(self, array: Array | None, by: str = "") -> Array:
        """Return what the members must agree on, for the others to compare."""
        call = self.call
        if array is None:
            return _header(call.collective, call.dtype, call.shape, by)
        return _header(call.collective, array.dtype.name, array.shape)

    def check(self, who: str, own: Array, header: Any) -> None:
        """Compare the header of another member with one's own.

        Args:
            who: the other member, for the message.
            own: the header of this member.
            header: that of the other one; a value may follow it.

        Raises:
            InvalidArgumentError: if they differ; names both members.
        """
        if header is own or np.array_equal(own, np.ravel(header)[: len(own)]):
            return
        me = self.group.members[self.rank].device
        raise InvalidArgumentError(
            f"the members of {self.call.collective} do not agree: {me} has {_told(own)}, {who} has {_told(header)}"
        )

    def merged(self, values: Sequence[Array]) -> Array:
        """Return the values merged in order, as a new array."""
        merge = _MERGES[self.call.collective.merge]
        total = np.array(values[0])
        for value in values[1:]:
            merge(total, value, out=total)
        self.finalise(total)
        return total

    def finalise(self, total: Array) -> None:
        """Apply the final op in place."""
        if self.call.collective.final == "Div":
            if total.dtype.kind in "iu":  # rounded towards zero, as in C
                np.floor_divide(total - np.fmod(total, self.size), self.size, out=total)
            else:
                np.divide(total, total.dtype.type(self.size), out=total)


@lru_cache(maxsize=4096)
def _header(c: Collective, dtype: str, shape: tuple[int, ...], by: str = "") -> Array:
    """Return a header; cached, because those of a program recur in every step."""
    text = json.dumps([c.kind, c.size, c.merge, c.final, dtype, list(shape), *[by] * bool(by)]).encode()
    return np.frombuffer(text.ljust(-(-len(text) // _ALIGNMENT) * _ALIGNMENT), np.uint8)


def _told(header: Any) -> str:
    """Return a header as words."""
    try:
        text = bytes(np.asarray(header, np.uint8)).decode("latin-1")
        kind, size, merge, final, dtype, shape, *library = json.JSONDecoder().raw_decode(text)[0]
    except ValueError:
        return "something else"
    how = "" if not merge else f" by {merge}" if final == "Id" else f" by {merge} and {final}"
    return f"a {kind} of {size} members{how} with {dtype} {shape}{''.join(f' through {name}' for name in library)}"


class DirectExchange(Exchange):
    """Each member sends to each other one; the result follows from what all have sent."""

    def begin(self) -> None:
        """See ``Exchange.begin``."""
        array = self.call.value
        assert array is not None
        own = self.header(array)
        mine = self.part_for(self.rank)
        values: list[Any] = [None] * self.size
        values[self.rank] = mine
        left = self.size - 1

        def keep(rank: int, value: Any) -> None:
            nonlocal left
            values[rank] = value
            left -= 1
            if not left:
                self.call.complete(self.result(values))

        def split(rank: int, message: Any) -> None:
            self.check(self.group.members[rank].device, own, message)
            keep(rank, message[len(own) :].view(mine.dtype).reshape(mine.shape))

        # Members that agree have parts of one size, so all of them join, or none.
        if mine.nbytes <= _JOINED_BYTES:
            self._send_joined(own)
            for rank in self._others():
                self.receive(rank, "type", partial(split, rank))
        else:
            for rank in self._others():
                self.send(rank, "type", own)
                self.send(rank, "value", self.part_for(rank))
            self._rendezvous.flush()
            for rank in self._others():
                who = self.group.members[rank].device
                self.receive(rank, "type", partial(self.check, who, own))
                self.receive(rank, "value", partial(keep, rank))
        if not left:
            self.call.complete(self.result(values))

    def _send_joined(self, header: Array) -> None:
        """Send each member the header and its part in one array."""
        message, before = header, None
        for rank in self._others():
            part = self.part_for(rank)
            if part is not before:
                flat = np.ascontiguousarray(part).reshape(-1)
                message, before = np.concatenate([header, flat.view(np.uint8)]), part
            self.send(rank, "type", message)
        self._rendezvous.flush()

    def part_for(self, rank: int) -> Any:
        """Return what a member gets of this one's value."""
        value = self.call.value
        assert value is not None
        if self.call.collective.kind in (REDUCE, GATHER):
            return value
        rows = len(value) // self.size
        return value[rank * rows : (rank + 1) * rows]

    def result(self, values: Sequence[Any]) -> Any:
        """Return the result, given what each member has sent."""
        if self.call.collective.merge:
            return self.merged(values)
        return np.concatenate(values)


class Broadcast(Exchange):
    """One member sends; the others receive from whichever it is.

    A receiver does not know the sender, so the values are kept under keys from itself to itself.
    """

    def begin(self) -> None:
        """See ``Exchange.begin``."""
        value = self.call.value
        if value is None:
            own = self.header(None)
            self.receive(self.rank, "type", partial(self.check, "the sender", own))
            self.receive(self.rank, "value", lambda value: self.call.complete(np.array(value)))
            return
        own = self.header(value)
        for rank in self._others():
            self._send_as(rank, "type", own)
            self._send_as(rank, "value", value)
        self._rendezvous.flush()
        self.call.complete(value)

    def _send_as(self, rank: int, what: str, value: Any) -> None:
        other = self.group.members[rank]
        name = f"{self._name} {what}"
        key = build_key(other.device, other.incarnation, other.device, name)
        self._rendezvous.send(key, value)


class SharedBroadcast(Exchange):
    """A broadcast between steps of several sessions, whose sender waits until all have received.

    Otherwise the steps of the sender could run far ahead of the others. A receiver awaits the value of every
    other member, whichever sends, so that the loss of any of them is noticed.
    """

    def begin(self) -> None:
        """See ``Exchange.begin``."""
        value = self.call.value
        own = self.header(value)
        left = self.size - 1
        if value is None:
            for rank in self._others():
                who = self.group.members[rank].device
                self.receive(rank, "type", partial(self.check, who, own))
                self.receive(rank, "value", partial(self._received, rank))
            return

        def received(_: Any) -> None:
            nonlocal left
            left -= 1
            if not left:
                self.call.complete(value)

        for rank in self._others():
            self.send(rank, "type", own)
            self.send(rank, "value", value)
            self.receive(rank, "received", received)
        self._rendezvous.flush()

    def _received(self, rank: int, value: Any) -> None:
        self.send(rank, "received", np.zeros([], np.bool_))
        self.call.complete(np.array(value))
        self.stop()


class Ring(Exchange):
    """Chunks go round the ring of members.

    Each member has ``size`` parts, each of which is cut into the same number of chunks. Chunk ``k`` of all
    parts makes its round independently of the others: at hop ``h`` a member receives the chunk of part
    ``first - 1 - h``, merges or stores it, and passes it on.
    """

    def __init__(
        self, call: CollectiveCall, group: Group, device: str, rendezvous: Rendezvous, number: int, buffers: BufferPool
    ) -> None:
        super().__init__(call, group, device, rendezvous, number, buffers)
        value = call.value
        assert value is not None
        self._flat = np.ascontiguousarray(value).reshape(-1)
        kind = call.collective.kind
        around = self.size - 1
        self._reducing = 0 if kind == GATHER else around
        self._hops = self._reducing + (0 if kind == REDUCE_SCATTER else around)
        # The last part that is merged here is the member's own where it keeps no other.
        self._first = self.rank - 1 if kind == REDUCE_SCATTER else self.rank
        self._out, self._bounds = self._make_result(kind, value)
        longest = max(stop - start for start, stop in self._bounds)
        self._chunks = max(1, -(-longest * value.itemsize // CHUNK_BYTES))
        self._begun = self._finished = 0
        self._header = self.header(value)

    def _make_result(self, kind: str, value: Array) -> tuple[Array, list[tuple[int, int]]]:
        """Return the array of all parts, and where each of them lies in it."""
        n, size = self._flat.size, self.size
        if kind == GATHER:
            out = self._buffers.array(n * size, value.dtype)
            out[self.rank * n : (self.rank + 1) * n] = self._flat
            return out, [(rank * n, (rank + 1) * n) for rank in range(size)]
        edges = [n * rank // size for rank in range(size + 1)]
        return self._buffers.array(n, value.dtype), list(itertools.pairwise(edges))

    def begin(self) -> None:
        """See ``Exchange.begin``."""
        before, after = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        self.receive(before, "type", partial(self.check, self.group.members[before].device, self._header))
        self.send(after, "type", self._header)
        for _ in range(min(_WINDOW, self._chunks)):
            self._begin_chunk()
        self._rendezvous.flush()

    def _begin_chunk(self) -> None:
        k = self._begun
        self._begun += 1
        source = self._out if not self._reducing else self._flat
        self._expect(0, k)
        self._pass_on(0, k, source[self._place(self._first, k)])

    def _place(self, part: int, k: int) -> slice:
        """Return where chunk ``k`` of a part lies."""
        start, stop = self._bounds[part % self.size]
        length = stop - start
        return slice(start + length * k // self._chunks, start + length * (k + 1) // self._chunks)

    def _pass_on(self, hop: int, k: int, chunk: Array) -> None:
        self.send((self.rank + 1) % self.size, f"{hop}.{k}", chunk)

    def _expect(self, hop: int, k: int) -> None:
        before = (self.rank - 1) % self.size
        self.receive(before, f"{hop}.{k}", partial(self._arrived, hop, k))

    def _arrived(self, hop: int, k: int, chunk: Array) -> None:
        place = self._place(self._first - 1 - hop, k)
        mine = self._out[place]
        if chunk.shape != mine.shape or chunk.dtype != mine.dtype:
            raise InternalError(
                f"{self.call.collective}: a chunk of {chunk.dtype.name} {list(chunk.shape)} arrived in place "
                f"of one of {mine.dtype.name} {list(mine.shape)}"
            )
        if hop < self._reducing:
            _MERGES[self.call.collective.merge](chunk, self._flat[place], out=mine)
            if hop == self._reducing - 1:
                self.finalise(mine)
        else:
            mine[...] = chunk
        if hop + 1 < self._hops:
            self._expect(hop + 1, k)
            self._pass_on(hop + 1, k, mine)
            return
        self._finished += 1
        if self._begun < self._chunks:
            self._begin_chunk()
        elif self._finished == self._chunks:
            self.call.complete(self._result())

    def _result(self) -> Array:
        value, kind = self.call.value, self.call.collective.kind
        assert value is not None
        if kind == REDUCE_SCATTER:
            start, stop = self._bounds[self.rank]
            own = np.array(self._out[start:stop])  # the rest is released
            return own.reshape(value.shape[0] // self.size, *value.shape[1:])
        if kind == GATHER:
            return self._out.reshape(value.shape[0] * self.size, *value.shape[1:])
        return self._out.reshape(value.shape)


def exchange_for(
    call: CollectiveCall, group: Group, device: str, rendezvous: Rendezvous, number: int, buffers: BufferPool
) -> Exchange:
    """Return the exchange for a call: direct for small values and all-to-all, a ring for large ones."""
    kind, value = call.collective.kind, call.value
    exchange: type[Exchange] = DirectExchange
    if kind == BROADCAST:
        exchange = Broadcast if group.shared is None else SharedBroadcast
    elif kind != ALL_TO_ALL and len(group.members) > 1 and value is not None:
        sent = value.nbytes * (len(group.members) - 1)
        exchange = Ring if sent > DIRECT_BYTES else DirectExchange
    return exchange(call, group, device, rendezvous, number, buffers)
