"""The collective executor of a step: begins the collective calls of its nodes, and ends them with it.

TensorFlow's ``CollectiveExecutor``. Everything belongs to the thread of the step.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import numpy as np

from actorsession.actors.loops import call_in
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, OpError, from_exception
from actorsession.graph.collective_call import Collective, CollectiveCall
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.device_kernels import arrays_of
from actorsession.runtime.collective.algorithms import Exchange, exchange_for
from actorsession.runtime.collective.device_exchange import DeviceExchange, library_for
from actorsession.runtime.collective.groups import Group, GroupResolver, Joined, Member, SharedExchanges
from actorsession.runtime.rendezvous import Rendezvous

__all__ = ["CollectiveExecutor"]


class CollectiveExecutor:
    """The collectives of one step in one process.

    Args:
        rendezvous: the rendezvous of the step.
        groups: finds the members of groups.
        loop: the event loop of the step, if it has one.
    """

    def __init__(self, rendezvous: Rendezvous, groups: GroupResolver, loop: asyncio.AbstractEventLoop | None) -> None:
        self._rendezvous = rendezvous
        self._groups = groups
        self._loop = loop
        # Executions of each instance at each device; a loop executes one repeatedly.
        self._executed: Counter[tuple[int, int, str]] = Counter()
        self._active: dict[tuple[int, int, str], CollectiveCall] = {}
        # Instances that have begun at devices, and calls that must begin after some of them.
        self._begun: set[tuple[int, str]] = set()
        self._held: list[tuple[set[tuple[int, str]], CollectiveCall, DeviceAttributes]] = []
        self._exchanges: dict[CollectiveCall, Exchange] = {}
        self._joining: dict[CollectiveCall, Joined] = {}
        # By group: the exchanges with other sessions' steps that this step has taken part in, and where.
        self._shared: dict[int, tuple[SharedExchanges, str]] = {}

    def step_failed(self, error: OpError) -> None:
        """End what members in other sessions wait for of this step, which has failed."""
        shared, self._shared = self._shared, {}
        for exchanges, where in shared.values():
            exchanges.abandon(where, error)

    def begin(self, call: CollectiveCall, device: DeviceAttributes) -> None:
        """Begin a call of a node on a device; it is completed with the result, or the error."""
        c = call.collective
        who = (c.group, c.instance, device.name)
        if who in self._active:
            call.fail(
                InvalidArgumentError(
                    f"two nodes on {device.name} take part in {c} at once; its members are on different devices"
                )
            )
            return
        self._active[who] = call
        call.on_end(partial(self._ended, who))
        if call.seconds and self._loop is not None:
            late = self._loop.call_later(call.seconds, self._late, call)
            call.on_end(lambda _: late.cancel())
        if self._begun.issuperset(before := {(i, device.name) for i in call.after}):
            self._start(call, device)
        else:
            self._held.append((before, call, device))

    def _start(self, call: CollectiveCall, device: DeviceAttributes) -> None:
        """Find the group of a call, and exchange values with its members."""
        c = call.collective
        self._begun.add((c.instance, device.name))
        held, self._held = self._held, []
        for before, other, there in held:
            if other.done:
                continue
            if self._begun.issuperset(before):
                self._start(other, there)
            else:
                self._held.append((before, other, there))
        shared = self._shared.get(c.group)
        ended = None if shared is None else shared[0].rendezvous.aborted
        if ended is not None:
            # The member whose step has failed would never come to the group if it were formed anew.
            call.fail(ended)
            return
        if c.size == 1:
            self._joined(call, device.name, Group(c.group, (self._member(device),)))
            return
        # Another step may complete the group, in its own thread.
        joined = partial(call_in, self._loop, self._joined, call, device.name)
        self._joining[call] = joined
        try:
            self._groups.join(c.group, c.size, self._member(device), joined)
        except Exception as exc:  # the call may be one that was held, whose caller is elsewhere
            call.fail(from_exception(exc))

    def _member(self, device: DeviceAttributes) -> Member:
        return Member(device.name, device.incarnation, self._groups.host)

    def _late(self, call: CollectiveCall) -> None:
        waits = ", ".join(self.awaited_by(call)) or "its group to be complete"
        call.fail(
            DeadlineExceededError(f"{call.collective} took longer than its {call.seconds:g} s; it waits for {waits}")
        )

    def waits(self) -> list[tuple[str, Collective, tuple[str, ...]]]:
        """Return the calls that wait: device, instance and ``awaited_by`` of each."""
        active = list(self._active.items())
        return [(who[2], call.collective, self.awaited_by(call)) for who, call in active]

    def awaited_by(self, call: CollectiveCall) -> tuple[str, ...]:
        """Return the devices of the members that a call waits for; none while its group forms."""
        exchange = self._exchanges.get(call)
        return () if exchange is None else exchange.awaited()

    def _joined(self, call: CollectiveCall, device: str, group: Group | OpError) -> None:
        if call.done:
            return
        if isinstance(group, OpError):
            call.fail(group)
            return
        c = call.collective
        shared = group.shared
        if shared is None:
            rendezvous = self._rendezvous
            number = self._executed[c.group, c.instance, device]
            self._executed[c.group, c.instance, device] += 1
        else:
            self._shared[c.group] = shared, f"member {device} in {c}"
            rendezvous = shared.rendezvous
            number = shared.begin(c.instance, device)
            call.on_end(lambda _: shared.finish(c.instance, device))
        try:
            exchange = self._exchanges[call] = self._exchange(call, group, device, rendezvous, number)
            exchange.begin()
        except Exception as exc:
            call.fail(from_exception(exc))

    def _exchange(
        self, call: CollectiveCall, group: Group, device: str, rendezvous: Rendezvous, number: int
    ) -> Exchange:
        arguments = call, group, device, rendezvous, number, self._groups.buffers
        if self._loop is not None and (library := library_for(call, group)) is not None:
            return DeviceExchange(library, self._groups.ends, self._loop, *arguments)
        if call.value is not None:
            arrays = arrays_of(device)
            call.value = np.asarray(call.value if arrays is None else arrays.to_host(call.value))
        return exchange_for(*arguments)

    def _ended(self, who: tuple[int, int, str], call: CollectiveCall) -> None:
        self._active.pop(who, None)
        joined = self._joining.pop(call, None)
        if joined is not None:
            self._groups.forget(joined)
        exchange = self._exchanges.pop(call, None)
        if exchange is not None:
            exchange.stop()
