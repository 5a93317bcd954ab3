"""The registry: one scheme, one transport, and errors that list what there is."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import transports
from tests.transports.peers import PS, WORKER, echo, numbered
from transports.inproc import InprocTransport
from transports.listener import OnConnection


class Lane:
    """A transport from outside: carries its own scheme over inproc."""

    async def connect(
        self,
        address: transports.Address,
        hello: transports.Hello,
        *,
        connect_timeout: float,
        expect_task: str | None,
        expect_cluster: str | None,
        token: str | None,
        security: transports.SecurityConfig | None = None,
    ) -> transports.Connection:
        return await InprocTransport().connect(
            transports.Address(scheme="inproc", name=address.name),
            hello,
            connect_timeout=connect_timeout,
            expect_task=expect_task,
            expect_cluster=expect_cluster,
            token=token,
        )

    async def listen(
        self,
        address: transports.Address,
        hello: transports.Hello,
        on_connection: OnConnection,
        *,
        token: str | None,
        handshake_timeout: float,
        sock: socket.socket | None,
        security: transports.SecurityConfig | None = None,
    ) -> transports.Listener:
        return await InprocTransport().listen(
            transports.Address(scheme="inproc", name=address.name),
            hello,
            on_connection,
            token=token,
            handshake_timeout=handshake_timeout,
            sock=sock,
        )


@pytest.fixture(autouse=True)
def _registered_as_before() -> Iterator[None]:
    before = dict(transports.registry._transports)
    yield
    transports.registry._transports.clear()
    transports.registry._transports.update(before)


def test_the_built_in_schemes_are_registered() -> None:
    assert transports.transport_schemes() == ("abstract", "inproc", "tcp", "tls", "unix")


async def test_a_transport_from_outside_carries_its_scheme() -> None:
    transports.register_transport("lane", Lane())
    assert "lane" in transports.transport_schemes()
    async with (
        await transports.listen("lane://fast", PS, echo),
        await transports.connect("lane://fast", WORKER, timeout=60) as connection,
    ):
        connection.write(numbered(1))
        assert await connection.recv() == numbered(1)


def test_a_scheme_that_is_taken_is_refused_unless_replacing_is_meant() -> None:
    with pytest.raises(ValueError, match=r"'tcp' is already registered for"):
        transports.register_transport("tcp", Lane())
    lane = Lane()
    transports.register_transport("tcp", lane, replace=True)
    assert transports.registry._transports["tcp"] is lane


def test_a_malformed_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not an address scheme"):
        transports.register_transport("tcp://", Lane())


async def test_an_unknown_scheme_lists_those_that_are_known() -> None:
    with pytest.raises(ValueError, match=r"'grpc'; registered schemes are abstract, inproc, tcp, tls, unix"):
        await transports.connect("grpc://host:1", WORKER)
    with pytest.raises(ValueError, match=r"'grpc'; registered schemes are abstract, inproc, tcp, tls, unix"):
        await transports.listen("grpc://host:1", PS, echo)


async def test_an_empty_token_is_a_mistake_and_no_token() -> None:
    with pytest.raises(ValueError, match=r"the token is empty"):
        await transports.connect("inproc://x", WORKER, token="")
    with pytest.raises(ValueError, match=r"the token is empty"):
        await transports.listen("inproc://x", PS, echo, token="")
