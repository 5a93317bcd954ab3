"""Values that cannot be sent: the step fails at once and names where they come from; the session goes on.

What a kernel returns is not checked where it is computed. The codec refuses what it does not know, a method
of a class of the user's may raise anything while a value is encoded, and there may be no memory for it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from tests.cluster.kit import W0, W1, on, soon
from tests.nodes import op_type

SCHEMES = ("inproc", "tcp", "unix")
DEVICE = "/device:CPU:0"


class Strange:
    """Its class is unknown to the codec."""


class FailingBytes(bytes):
    """Cannot be copied."""

    def __bytes__(self) -> bytes:
        raise ZeroDivisionError("no bytes")


def strings(item: Any) -> np.ndarray[Any, Any]:
    array = np.empty(1, object)
    array[0] = item
    return array


def nested() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


# What a kernel returns, the class of the error and a part of its words.
UNSENDABLE: dict[str, tuple[Callable[[], Any], type[OpError], str]] = {
    "elements": (lambda: strings(Strange()), InvalidArgumentError, "bytes or str, found Strange"),
    "failing": (lambda: strings(FailingBytes()), InvalidArgumentError, "ZeroDivisionError: no bytes"),
    "text": (lambda: strings("\udcff"), InvalidArgumentError, "surrogates not allowed"),
    "dtype": (lambda: np.zeros(3, "M8[s]"), InvalidArgumentError, "valid names: float16"),
    "nested": (nested, InvalidArgumentError, "recursion limit"),
    "object": (Strange, InvalidArgumentError, "cannot send a Strange"),
    # 32 TiB, of which a broadcast takes four bytes.
    "huge": (lambda: np.broadcast_to(np.float32(0), 2**43), ResourceExhaustedError, "no memory"),
}


class Odd:
    """A node that returns what the test says, in the call or later."""

    made: ClassVar[Callable[[], Any]] = lambda: np.float32(1)

    @classmethod
    def value(cls) -> Any:
        """The next value is an ordinary one."""
        make, cls.made = cls.made, lambda: np.float32(1)
        return make()

    @classmethod
    async def value_later(cls) -> Any:
        return cls.value()

    def __new__(cls, x: acts.Tensor, name: str, *, later: bool = False) -> acts.Tensor:  # type: ignore[misc]
        return x.graph.create_op("TestOddLater" if later else "TestOdd", (x,), {}, name).outputs[0]


op_type("TestOdd", lambda context: lambda _: Odd.value(), stateful=True)
op_type("TestOddLater", lambda context: lambda _: Odd.value_later(), stateful=True, suspends=True)


@pytest.fixture(autouse=True)
def ordinary() -> Iterator[None]:
    """A value that nobody has asked for is not left to another test."""
    yield
    Odd.made = lambda: np.float32(1)


@asynccontextmanager
async def pair(scheme: str, folder: Path) -> AsyncIterator[str]:
    """Two workers in this process; the target of the first."""
    bind = {
        "inproc": [f"inproc://unsendable-{os.getpid()}-{index}" for index in range(2)],
        "tcp": ["127.0.0.1:0"] * 2,
        "unix": [f"unix://{folder}/{index}" for index in range(2)],
    }[scheme]
    async with acts.Server({"worker": bind}, "worker", 0) as one, acts.Server({"worker": bind}, "worker", 1) as other:
        spec = acts.ClusterSpec({"worker": [one.target, other.target]})
        for server in (one, other):
            server.learn_peers(spec)
        yield one.target


def config(*, wire: bool) -> ConfigProto:
    return ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=wire))


async def refused(run: Callable[[], Any], kind: str, task: str, node: str | None = "odd") -> None:
    """A run fails because of a value of that kind, in time and with its origin; the next one does not."""
    make, error, words = UNSENDABLE[kind]
    Odd.made = make
    with pytest.raises(error, match=words) as caught:
        await soon(run())
    found = caught.value.node, caught.value.device, caught.value.task
    assert found == (node, task + DEVICE, task)
    if node is not None:
        assert str(caught.value.source).startswith(__file__)
    await soon(run())


@pytest.mark.parametrize(("scheme", "later"), [("inproc", False), ("tcp", False), ("unix", True)], ids=SCHEMES)
async def test_a_value_on_its_way_to_another_task_or_to_the_client(scheme: str, later: bool, tmp_path: Path) -> None:
    async with pair(scheme, tmp_path) as target:
        for source, other in ((W0, W1), (W1, W0)):
            with acts.Graph().as_default() as graph:
                with on(source):
                    odd = Odd(ops.placeholder_with_default(1.0, []), "odd", later=later)
                with on(other):
                    there = ops.identity(odd) + 1
            for wire in (False, True):
                async with acts.AsyncSession(target, graph, config=config(wire=wire)) as session:
                    # A value of the master's own task is not encoded for a client in its process.
                    for fetch in [there, odd] if wire or source == W1 else [there]:
                        run = partial(session.run, fetch)
                        for _ in range(3):
                            await soon(run())
                        for kind in UNSENDABLE:
                            await refused(run, kind, source)


async def test_the_first_value_over_a_link_that_is_not_there_yet(tmp_path: Path) -> None:
    """It is encoded when the link is, long after the partition that has sent it has run."""
    async with pair("tcp", tmp_path) as target:
        with acts.Graph().as_default() as graph:
            odd = on(W0, lambda: Odd(ops.constant(1.0), "odd"))
            there = on(W1, lambda: ops.identity(odd) + 1)
        make, error, words = UNSENDABLE["elements"]
        Odd.made = make
        async with acts.AsyncSession(target, graph) as session:
            with pytest.raises(error, match=words) as caught:
                await soon(session.run(there))
            assert (caught.value.node, caught.value.task) == ("odd", W0)
            assert await soon(session.run(there)) == 2.0


@pytest.mark.parametrize("kind", ["elements", "failing", "huge"])
async def test_one_of_many_values_is_named(kind: str, tmp_path: Path) -> None:
    async with pair("inproc", tmp_path) as target:
        with acts.Graph().as_default() as graph:
            with on(W1):
                values = [ops.constant(float(number)) * 1 for number in range(3)]
                values.insert(2, Odd(ops.constant(1.0), "odd"))
            total = on(W0, lambda: ops.add_n(values))
        async with acts.AsyncSession(target, graph, config=config(wire=True)) as session:
            for fetch in (total, values):
                for _ in range(3):
                    await soon(session.run(fetch))
                await refused(partial(session.run, fetch), kind, W1)


async def test_a_value_of_a_partial_run(tmp_path: Path) -> None:
    async with pair("inproc", tmp_path) as target:
        with acts.Graph().as_default() as graph:
            x, y = (ops.placeholder(acts.float32, [], name=name) for name in "xy")
            odd = on(W1, lambda: Odd(x, "odd"))
            there = on(W0, lambda: ops.identity(odd) + y)
        async with acts.AsyncSession(target, graph, config=config(wire=True)) as session:

            async def call(first: Any, second: Any) -> Any:
                handle = await session.partial_run_setup([odd, there], [x, y])
                await session.partial_run(handle, first, {x: 1.0})
                return await session.partial_run(handle, second, {y: 1.0})

            for _ in range(2):
                assert await soon(call(odd, there)) == 2.0
            for kind in ("elements", "failing", "huge"):
                await refused(lambda: call(odd, there), kind, W1)
                await refused(lambda: call([], [there, odd]), kind, W1)


@pytest.mark.parametrize("meet", ["broadcast", "all_reduce", "all_gather"])
async def test_a_value_of_a_collective(meet: str, tmp_path: Path) -> None:
    """The members wait for each other, and none of them for ever."""
    async with pair("inproc", tmp_path) as target:
        with acts.Graph().as_default() as graph:
            group = acts.collective.Group(2)
            x = ops.placeholder(acts.float32, [3])
            met = []
            for task in (W0, W1):
                with on(task):
                    value = Odd(x, "odd") if task == W1 else x
                    more = {"sends": task == W1} if meet == "broadcast" else {}
                    met.append(getattr(acts.collective, meet)(value, group, **more))
        fed = {x: np.ones(3, np.float32)}

        def ordinary() -> Any:
            return np.ones(3, np.float32)

        async with acts.AsyncSession(target, graph) as session:
            for kind in ("elements", "object"):
                make, error, _ = UNSENDABLE[kind]
                for made in (ordinary, make, ordinary):
                    Odd.made = made
                    if made is ordinary:
                        await soon(session.run(met, fed))
                    else:
                        with pytest.raises(error) as caught:
                            await soon(session.run(met, fed))
                        assert caught.value.task in (W0, W1)


async def test_an_element_of_a_queue_on_another_task(tmp_path: Path) -> None:
    async with pair("inproc", tmp_path) as target:
        with acts.Graph().as_default() as graph:
            with on(W1):
                queue = ops.FIFOQueue(9, acts.string, shapes=[[1]])
                x = ops.placeholder(acts.string, [1])
                put = queue.enqueue(Odd(x, "odd"))
                taken = queue.dequeue(name="taken")
            there = on(W0, lambda: ops.identity(taken))
        async with acts.AsyncSession(target, graph) as session:

            async def run(make: Callable[[], Any]) -> Any:
                Odd.made = make
                await session.run(put, {x: ["x"]})
                return await session.run(there)

            for _ in range(2):
                assert (await soon(run(lambda: strings(b"a")))).tolist() == [b"a"]
            for kind in ("elements", "failing"):
                make, error, words = UNSENDABLE[kind]
                with pytest.raises(error, match=words) as caught:
                    await soon(run(make))
                assert (caught.value.node, caught.value.task) == ("taken", W1)
            assert (await soon(run(lambda: strings(b"b")))).tolist() == [b"b"]
