"""Targets: what they may be, and that a malformed one is refused where the session is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from actorsession import AsyncInteractiveSession, AsyncSession, Graph, InteractiveSession, Session, ops
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, UnavailableError
from actorsession.session.targets import is_local, master_addresses, names_master
from tests.rows import for_each

# A target, and what its error says is wrong.
MALFORMED = {
    "tcp://loft": r"tcp takes host:port and nothing after it",
    "tcp://": r"ends after its scheme",
    "tcp://loft:port": r"the port 'port' is not a number from 0 to 65535",
    "loft:70000": r"the port 70000 is not a number from 0 to 65535",
    ":7000": r"the host is empty",
    "::1:7000": r"IPv6 host in brackets: tcp://\[::1\]:7000",
    "grpc://loft": r"host:port",
    "unix://relative/s": r"the path 'relative/s' is not absolute|takes a path",
    "tcp://a:1,": r"one of its addresses is empty",
    "tcp://a:1,,tcp://b:2": r"one of its addresses is empty",
    "tcp://a:1,local": r"'local' is this process and no address of a master",
    "tcp://a:1,loft": r"tcp://loft.*host:port",
    "a:1,pigeon://loft": r"no transport is registered for 'pigeon://loft', only for abstract, inproc",
}


def test_nobody_is_at_port_0() -> None:
    with pytest.raises(UnavailableError, match="nobody can be reached at port 0 of 'tcp://loft:0'"):
        master_addresses("tcp://loft:0")
    with pytest.raises(UnavailableError, match="port 0"):
        Session.reset("grpc://localhost:0")
    with pytest.raises(DeadlineExceededError, match="port 0"):
        tf.Session.reset("grpc://localhost:0", ["c"], tf.ConfigProto(operation_timeout_in_ms=5))


@pytest.mark.parametrize("target", ["", "local"])
def test_this_process_has_two_names(target: str, graph: Graph) -> None:
    assert is_local(target)
    assert not names_master(target)
    with Session(target, graph=graph) as session:
        assert session.run(ops.constant(1) + 1) == 2
        assert session.target == target
        assert session.list_devices()[0].name.startswith("/job:localhost")


@for_each("target", ["", "local"])
async def test_this_process_has_two_names_on_a_loop(target: str, graph: Graph) -> None:
    async with AsyncSession(target, graph=graph) as session:
        assert await session.run(ops.constant(1) + 1) == 2
        await AsyncSession.reset(target)
        with pytest.raises(CancelledError, match="Session has been closed"):
            await session.list_devices()


def test_an_interactive_session_of_the_local_target_places_what_runs() -> None:
    with tf.Graph().as_default():
        with tf.device("/device:GPU:0"):
            tf.constant(1.0)
        session = tf.InteractiveSession("local")
        assert tf.constant(2.0).eval() == 2.0
        session.close()


@for_each(
    "target, addresses",
    [
        ("tcp://a:1", ("tcp://a:1",)),
        ("grpc://a:1", ("tcp://a:1",)),
        ("a:1", ("tcp://a:1",)),
        ("127.0.0.1:7000", ("tcp://127.0.0.1:7000",)),
        ("[::1]:7000", ("tcp://[::1]:7000",)),
        ("a:1,b:2, grpc://c:3", ("tcp://a:1", "tcp://b:2", "tcp://c:3")),
        ("a:1,grpc://a:1,tcp://a:1", ("tcp://a:1",)),
        ("tls://a:1,unix:///run/s,inproc://n", ("tls://a:1", "unix:///run/s", "inproc://n")),
        ("unix:///tmp/a,b/s", ("unix:///tmp/a,b/s",)),
        ("unix:///a, b/s , unix:///c,d,e:1", ("unix:///a, b/s", "unix:///c,d", "tcp://e:1")),
    ],
)
def test_the_addresses_of_a_target_are_read(target: str, addresses: tuple[str, ...]) -> None:
    assert names_master(target)
    assert master_addresses(target) == addresses


def makers() -> dict[str, Callable[[str], Any]]:
    """Everything that takes a target."""

    def awaited(make: Callable[[str], Coroutine[Any, Any, Any]]) -> Callable[[str], Any]:
        return lambda target: asyncio.run(make(target))

    return {
        "Session": Session,
        "AsyncSession": AsyncSession,
        "InteractiveSession": InteractiveSession,
        "AsyncInteractiveSession": AsyncInteractiveSession,
        "compat Session": tf.Session,
        "compat InteractiveSession": tf.InteractiveSession,
        "reset": Session.reset,
        "async reset": awaited(AsyncSession.reset),
    }


@for_each("maker", makers())
@for_each("target", MALFORMED)
def test_a_malformed_target_is_refused_where_it_is_given(target: str, maker: str) -> None:
    with pytest.raises(InvalidArgumentError, match=MALFORMED[target]) as refused:
        makers()[maker](target)
    assert f"malformed target {target!r}" in refused.value.message
    assert "Targets are '' or 'local' for this process; host:port, tcp://" in refused.value.message
