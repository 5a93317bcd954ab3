"""What every listener promises, whatever carries it: the second half of the conformance suite."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from dataclasses import replace

import pytest

from tests.interruptions import End, interrupt_everywhere, run_counted
from tests.loops import cancelled
from tests.transports.peers import PS, WORKER, assert_echoes, echo, log_of_transports, numbered, refuse_to_serve, start
from transports import (
    AuthenticationError,
    BindError,
    ConnectError,
    Connection,
    ConnectionClosed,
    Listener,
    TransportError,
    WrongPeer,
    connect,
    listen,
)
from transports.frame import WIRE_VERSION


async def test_every_dialler_is_served(address: str) -> None:
    async with await listen(address, PS, echo) as listener:
        connections = [await connect(listener.address, replace(WORKER, pid=number)) for number in range(5)]
        for number, connection in enumerate(connections):
            connection.write(numbered(number))
        for number, connection in enumerate(connections):
            assert await connection.recv() == numbered(number)
            await connection.aclose()


async def test_with_the_same_token_both_are_served(address: str) -> None:
    async with (
        await listen(address, PS, echo, token="secret") as listener,
        await connect(listener.address, WORKER, token="secret") as connection,
    ):
        await assert_echoes(connection)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"hello": replace(WORKER, cluster_id="red")}, WrongPeer, ["'red'", "'green'"]),
        ({"expect_cluster": "red"}, WrongPeer, ["'red'", "'green'"]),
        ({"expect_task": "/job:ps/task:9"}, WrongPeer, ["'/job:ps/task:9'", PS.task]),
        ({"hello": replace(WORKER, wire_versions=(9,))}, WrongPeer, ["[9]", f"[{WIRE_VERSION}]", "same version"]),
        ({"token": "wrong"}, AuthenticationError, ["token"]),
        ({"token": None}, AuthenticationError, ["token", "none"]),
    ],
    ids=["cluster", "expected cluster", "task", "version", "wrong token", "missing token"],
)
async def test_the_wrong_peer_is_told_why_and_so_are_we(
    address: str, settings: dict[str, object], kind: type[TransportError], words: list[str]
) -> None:
    asked: dict[str, object] = {"hello": WORKER, "token": "secret"} | settings
    with log_of_transports() as records:
        async with await listen(address, PS, refuse_to_serve, token="secret") as listener:
            with pytest.raises(kind) as caught:
                await connect(listener.address, **asked)  # type: ignore[arg-type]
            record = await records.get()
    assert caught.value.address == listener.address
    assert record.levelno == logging.WARNING
    for told in (str(caught.value), record.getMessage()):
        assert [word for word in words if word not in told] == []


async def test_a_listener_without_a_token_is_refused_by_a_dialler_with_one(address: str) -> None:
    async with await listen(address, PS, refuse_to_serve) as listener:
        with pytest.raises(AuthenticationError, match="requires a token"):
            await connect(listener.address, WORKER, token="secret")


async def test_a_client_that_knows_no_cluster_is_served(address: str) -> None:
    client = replace(WORKER, cluster_id="", task="client")
    async with await listen(address, PS, echo) as listener, await connect(listener.address, client) as connection:
        assert connection.peer.cluster_id == "green"


async def test_nobody_at_an_address_is_a_connect_error_with_its_number(address: str) -> None:
    async with await listen(address, PS, echo) as listener:
        pass
    with pytest.raises(ConnectError) as caught:
        await connect(listener.address, WORKER)
    assert caught.value.address == listener.address
    assert caught.value.errno in (errno.ECONNREFUSED, errno.ENOENT)
    assert (caught.value.attempts, caught.value.phase) == (1, "connect")
    assert listener.address in str(caught.value)


async def test_an_address_is_listened_on_once(address: str) -> None:
    async with await listen(address, PS, echo) as listener:
        with pytest.raises(BindError) as caught:
            await listen(listener.address, PS, echo)
        assert caught.value.errno == errno.EADDRINUSE
        assert caught.value.address == listener.address
        async with await connect(listener.address, WORKER) as connection:
            await assert_echoes(connection)


async def test_an_address_is_free_once_its_listener_is_closed(address: str) -> None:
    listener = await listen(address, PS, echo)
    for _ in range(3):
        await listener.aclose()
        listener = await listen(listener.address, PS, echo)
    await listener.aclose()
    await listener.aclose()


async def test_a_connection_is_closed_when_its_handler_returns(address: str) -> None:
    async def greet(connection: Connection) -> None:
        connection.write(numbered(1))

    async with await listen(address, PS, greet) as listener, await connect(listener.address, WORKER) as connection:
        assert await connection.recv() == numbered(1)
        with pytest.raises(ConnectionClosed) as caught:
            await connection.recv()
        assert not caught.value.by_us


async def test_a_failing_handler_is_logged_and_others_serve_on(address: str, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(connection: Connection) -> None:
        frame = await connection.recv()
        if frame == numbered(2):
            raise LookupError("no such graph")
        connection.write(frame)

    async with await listen(address, PS, fail) as listener:
        async with await connect(listener.address, WORKER) as connection:
            connection.write(numbered(2))
            with pytest.raises(ConnectionClosed):
                await connection.recv()
        async with await connect(listener.address, WORKER) as connection:
            await assert_echoes(connection)
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.name == "transports"
    assert WORKER.task in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], LookupError)


async def test_a_handler_that_ends_with_its_connection_is_no_failure(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def echo_in_a_group(connection: Connection) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(echo(connection), name="echo")

    for handler in (echo, echo_in_a_group):
        async with await listen(address, PS, handler) as listener:
            async with await connect(listener.address, WORKER) as connection:
                connection.write(numbered(1))
                await connection.recv()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_handler_that_loses_another_connection_fails(address: str, caplog: pytest.LogCaptureFixture) -> None:
    async def lose(connection: Connection) -> None:
        raise ConnectionClosed("elsewhere", address="tcp://elsewhere:1", by_us=False)

    async with await listen(address, PS, lose) as listener, await connect(listener.address, WORKER) as connection:
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    assert [r.levelno for r in caplog.records if r.name == "transports"] == [logging.ERROR]


async def test_closing_a_listener_closes_its_connections_by_us(address: str) -> None:
    ends: asyncio.Queue[bool] = asyncio.Queue()

    async def note_the_end(connection: Connection) -> None:
        try:
            await connection.recv()
        except ConnectionClosed as error:
            ends.put_nowait(error.by_us)
            raise

    listener = await listen(address, PS, note_the_end)
    async with await connect(listener.address, WORKER) as connection:
        receiving = await start(connection.recv(), "recv")
        await listener.aclose()
        with pytest.raises(ConnectionClosed) as caught:
            await receiving
    assert not caught.value.by_us
    assert await ends.get() is True


async def test_closing_a_listener_may_leave_its_connections(address: str) -> None:
    listener = await listen(address, PS, echo)
    async with await connect(listener.address, WORKER) as connection:
        await listener.aclose(connections=False)
        with pytest.raises(ConnectError):
            await connect(listener.address, WORKER)
        await assert_echoes(connection)
        assert "closed" in repr(listener)
    await listener.aclose()


async def test_a_handler_that_does_not_end_is_cancelled(address: str) -> None:
    cancelled: list[str] = []

    async def hang(connection: Connection) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(connection.peer.task)
            raise

    listener = await listen(address, PS, hang)
    async with await connect(listener.address, WORKER) as connection:
        receiving = await start(connection.recv(), "recv")
        await listener.aclose(grace=0.05)
        with pytest.raises(ConnectionClosed):
            await receiving
    assert cancelled == [WORKER.task]


async def test_a_handler_may_close_its_own_listener(address: str) -> None:
    listeners: list[Listener] = []
    closed = asyncio.Event()

    async def shut_down(connection: Connection) -> None:
        await connection.recv()
        await listeners[0].aclose()
        closed.set()
        connection.write(numbered(2))

    listeners.append(await listen(address, PS, shut_down))
    async with await connect(listeners[0].address, WORKER) as connection:
        connection.write(numbered(1))
        assert await connection.recv() == numbered(2)
        assert closed.is_set()
    await listeners[0].aclose()


async def test_a_close_that_is_cancelled_cuts_everything_off(address: str) -> None:
    ended = asyncio.Event()

    async def hang(connection: Connection) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    listener = await listen(address, PS, hang)
    async with await connect(listener.address, WORKER) as connection:
        closing = await start(listener.aclose(grace=30), "close")
        await cancelled(closing)
        await ended.wait()
        with pytest.raises(ConnectionClosed):
            await connection.recv()
    await listener.aclose()


async def test_a_listener_closed_before_its_handler_began_closes_the_connection(address: str) -> None:
    """Nothing may hang on a child that was cancelled before its first step."""
    listener = await listen(address, PS, echo)
    connection = await connect(listener.address, WORKER)
    await listener.aclose()
    with pytest.raises(ConnectionClosed) as caught:
        await connection.recv()
    assert not caught.value.by_us
    await connection.aclose()


def test_cancelling_a_listen_leaves_nothing_open(address: str) -> None:
    async def start() -> End:
        return (await listen(address, PS, echo)).aclose

    path = address.partition("://")[2]
    run_counted(interrupt_everywhere(start, lambda: not os.path.exists(path)))


def test_cancelling_a_connect_leaves_nothing_open(address: str) -> None:
    async def main() -> None:
        async with await listen(address, PS, echo) as listener:

            async def begin() -> End:
                return (await connect(listener.address, WORKER)).aclose

            await interrupt_everywhere(begin)
            async with await connect(listener.address, WORKER) as connection:
                await assert_echoes(connection)

    run_counted(main())
