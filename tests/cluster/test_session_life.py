"""The life of a session from creation to reset, the same over every transport, in processes of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorsession import ops
from actorsession.actors.loops import run as run_to_end
from actorsession.cluster import SecurityConfig, Server
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import AbortedError
from actorsession.graph.graph import Graph
from actorsession.session import AsyncSession
from tests.cluster.kit import W0, W1, on
from tests.cluster.script import command, environment, running
from tests.cluster.test_child import line_of
from tests.ports import HoldPorts
from tests.transports.authority import Authority


class Life:
    """A graph over two workers, and what a session does with it from beginning to end."""

    def __init__(self) -> None:
        self.graph = Graph()
        with self.graph.as_default():
            self.a, self.b = ops.placeholder("float32", []), ops.placeholder("float32", [])
            with on(W1):
                self.v = ops.Variable(1.0, name="v")
                self.first = self.v + self.a
            with on(W0):
                self.second = self.first * self.b

    async def lead(self, target: str, config: ConfigProto) -> None:
        """Create, run, extend, callable, partial run, list of devices, close; then reset."""
        async with AsyncSession(target, graph=self.graph, config=config) as session:
            await session.run(self.v.initializer)
            assert await session.run(self.second, {self.a: 2.0, self.b: 2.0}) == 6.0
            with self.graph.as_default(), on(W1):
                more = self.second + 1.0
            assert await session.run(more, {self.a: 2.0, self.b: 2.0}) == 7.0
            prepared = session.make_callable(more, [self.a, self.b])
            assert await prepared(3.0, 2.0) == 9.0
            async with session.partial([self.first, more], [self.a, self.b]) as step:
                seen = await step.run(self.first, {self.a: 4.0})
                assert await step.run(more, {self.b: seen * 10.0}) == 251.0
            assert [device.task for device in await session.list_devices()] == [W0, W1]
        lasting = AsyncSession(target, graph=self.graph, config=config)
        assert await lasting.run(self.v) == 1.0
        await AsyncSession.reset(target, config=config)
        with pytest.raises(AbortedError):
            await lasting.run(self.v)
        await lasting.close()


def options(files: SecurityConfig | None = None, *, wire: bool = False) -> ConfigProto:
    named = {} if files is None else {
        "ca_file": files.ca_file, "certificate_file": files.certificate_file, "key_file": files.key_file,
    }  # fmt: skip
    return ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=wire, **named))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SecurityConfig:
    return Authority(tmp_path_factory.mktemp("authority") / "ca").files()


@pytest.fixture
def addresses(scheme: str, tmp_path: Path, hold_ports: HoldPorts) -> list[str]:
    if scheme == "unix":
        return [f"unix://{tmp_path}/{index}" for index in range(2)]
    return [f"{scheme}://127.0.0.1:{port}" for port in hold_ports(2)]


@pytest.fixture
def workers(addresses: list[str], scheme: str, files: SecurityConfig) -> Iterator[list[str]]:
    """Two worker processes that listen at the addresses."""
    secured = files.to_environment() if scheme == "tls" else {}
    words = ["worker", "--job", "worker", "--cluster", json.dumps({"worker": addresses})]

    def start(index: int) -> Any:
        return running(command(*words, "--task", str(index)), env=environment(**secured))

    with start(0) as first, start(1) as second:
        for process in (first, second):
            line_of(process)
        yield addresses


@pytest.mark.process
@pytest.mark.parametrize("scheme", ["tcp", "tls", "unix"])
def test_a_session_lives_the_same_life_over_every_wire(
    scheme: str, workers: list[str], files: SecurityConfig
) -> None:
    run_to_end(Life().lead(workers[0], options(files if scheme == "tls" else None)))


@pytest.mark.parametrize("wire", [False, True])
async def test_a_session_lives_the_same_life_within_one_process(wire: bool) -> None:
    """Its master is called directly, or dialled by its name."""
    spec = {"worker": [f"inproc://life-{os.getpid()}-{index}" for index in range(2)]}
    async with Server(spec, "worker", 0) as master, Server(spec, "worker", 1):
        await Life().lead(master.target, options(wire=wire))
