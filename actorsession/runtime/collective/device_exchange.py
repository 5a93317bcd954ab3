"""Collectives by a library of the members' devices, such as NCCL: the ends of its groups, and the exchange over them.

Large values of members whose devices all have the library that the node's hint names go that way. The rendezvous of
the step still says who takes part: each member tells the first one that it is ready, and when all are, the first one
gives each the same turn. A library has no keys: members that began two instances in different orders would wait for
each other for ever, and so would all for a member that never comes.

A group of a library ends with its first failure, and when a member gives up an instance that others may have begun. The
first member begins another one then: with each instance the members say a number, which is another one when they have
given up an instance since.
"""

from __future__ import annotations

import asyncio
import json
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from actorsession.actors.loops import call_in
from actorsession.errors import AbortedError, InvalidArgumentError, ResourceExhaustedError, from_exception
from actorsession.graph.collective_call import BROADCAST, CollectiveCall, DeviceGroup, DeviceGroups
from actorsession.graph.device_kernels import arrays_of, kernels_of
from actorsession.graph.dtypes import as_dtype
from actorsession.runtime.collective.algorithms import DIRECT_BYTES, Exchange
from actorsession.runtime.collective.group_ends import GroupEnds, MemberThread
from actorsession.runtime.collective.groups import Group

__all__ = ["DeviceExchange", "library_for"]


def library_for(call: CollectiveCall, group: Group) -> DeviceGroups | None:
    """Return the library by which the members of a call exchange its values; ``None`` for the rendezvous.

    It follows from what is the same at all members that agree.
    """
    others = len(group.members) - 1
    if not call.hint or not others or not all(member.host for member in group.members):
        return None
    kernels = [kernels_of(member.device) for member in group.members]
    libraries = [None if each is None else each.groups.get(call.hint) for each in kernels]
    library, dtype = libraries[0], as_dtype(call.dtype)
    nbytes = math.prod(call.shape) * dtype.size
    if library is None or any(other is not library for other in libraries) or nbytes * others <= DIRECT_BYTES:
        return None
    return library if library.takes(call.collective, dtype) else None


class _Turn(NamedTuple):
    """What the first member says to each when all are ready.

    Attributes:
        life: see ``MemberThread``.
        number: how many instances that group had before.
        address: where its members meet.
        source: the rank of the member that sends, of a broadcast.
    """

    life: int
    number: int
    address: str
    source: int


class DeviceExchange(Exchange):
    """Members whose devices exchange the values by themselves; see the module.

    Args:
        library: the library.
        ends: the ends of this process.
        loop: the event loop of the step.
        more: the arguments of ``Exchange``.
    """

    def __init__(self, library: DeviceGroups, ends: GroupEnds, loop: asyncio.AbstractEventLoop, *more: Any) -> None:
        super().__init__(*more)
        self._library = library
        self._loop = loop
        self._ends = ends
        self._end = ends.begin(self.group.key, self.group.number, self.rank)
        self._since = self._end.since
        self._ready: dict[int, tuple[int, bool]] = {}  # by rank, at the first member: ``since``, and whether it sends
        self._thread: MemberThread | None = None
        self._left = {"type", "result"}  # what has not come
        self._result: Any = None
        self._ended = False

    def begin(self) -> None:
        """See ``Exchange.begin``."""
        own = self.header(None, by=self.call.hint)
        before, after = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        # A member that would go another way sends its type to its neighbour, too.
        self.receive(before, "type", partial(self._on_type, self.group.members[before].device, own))
        self.send(after, "type", own)
        said = np.array([self._since, self.call.value is not None], np.int64)
        if self.rank:
            self.send(0, "ready", np.concatenate([own, said.view(np.uint8)]))
            self.receive(0, "turn", self._on_turn)
        else:
            self._on_ready(0, said)
            for rank in self._others():
                self.receive(rank, "ready", partial(self._on_message, rank, own))
        self._rendezvous.flush()

    def _on_type(self, who: str, own: Any, header: Any) -> None:
        self.check(who, own, header)
        self._complete("type")

    def _on_message(self, rank: int, own: Any, message: Any) -> None:
        self.check(self.group.members[rank].device, own, message)
        self._on_ready(rank, message[len(own) :].view(np.int64))

    def _on_ready(self, rank: int, said: Any) -> None:
        """Give all members the turn when the last of them is ready; at the first member."""
        since, sends = map(int, said)
        self._ready[rank] = since, bool(sends)
        if len(self._ready) < self.size:
            return
        end = self._end
        members = [self._ready[rank][0] for rank in range(self.size)]
        senders = [rank for rank in range(self.size) if self._ready[rank][1]]
        if self.call.collective.kind == BROADCAST and len(senders) != 1:
            raise InvalidArgumentError(f"{self.call.collective}: one member of a broadcast sends, not {len(senders)}")
        if members != end.members:
            end.begin_life(*self._library.begin(self.group.members[0].host), members)
        turn = _Turn(end.life, end.turns, end.address, senders[0])
        end.turns += 1
        wire = np.frombuffer(json.dumps(turn).encode(), np.uint8)
        for other in self._others():
            self.send(other, "turn", wire)
        self._rendezvous.flush()
        self._run(turn)

    def _on_turn(self, message: Any) -> None:
        self._run(_Turn(*json.loads(bytes(message))))

    def _run(self, turn: _Turn) -> None:
        """Have the thread of this member take part."""
        call, loop, device = self.call, self._loop, self.group.members[self.rank]
        if self._end.since != self._since:
            raise AbortedError(f"{call.collective}: {device.device} has given up another instance meanwhile")
        join = partial(self._library.join, turn.address, device.device, self.rank, self.size, device.host)
        self._thread = self._end.enter(turn.life, join, f"actorsession-collectives-{self.rank}")
        arrays = arrays_of(device.device)
        assert arrays is not None  # a device with a library has them
        value = None if call.value is None else arrays.to_device(call.value)

        def run(group: DeviceGroup) -> None:
            result = group.exchange(call.collective, value, call.shape, as_dtype(call.dtype), turn.source)
            call_in(loop, self._on_result, result)

        self._thread.put(turn.number, run, partial(call_in, loop, self._on_failure))

    def _on_result(self, result: Any) -> None:
        self._result = result
        self._complete("result")

    def _complete(self, what: str) -> None:
        """Complete the call when all has come, so that nothing is left of it in the rendezvous."""
        self._left.discard(what)
        if not self._left and not self._ended:
            self._ended = True
            self._ends.finish(self._end)
            self.call.complete(self._result)

    def _on_failure(self, error: Exception) -> None:
        if self.call.done:
            return
        told = from_exception(error)
        if not isinstance(told, ResourceExhaustedError):
            # A member that was lost, or left: its own error comes by the rendezvous.
            words = f"{self.call.collective}: the exchange by {self.call.hint} has ended: {told.message}"
            told = AbortedError(words, derived=True)
        self.fail(told)

    def awaited(self) -> tuple[str, ...]:
        """See ``Exchange.awaited``."""
        if self._thread is None:
            return super().awaited()
        return tuple([self.group.members[rank].device for rank in self._others()])

    def stop(self) -> None:
        """See ``Exchange.stop``."""
        super().stop()
        if self._ended:
            return
        self._ended = True
        self._end.give_up(self._thread)
        self._ends.finish(self._end)
