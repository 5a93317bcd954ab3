"""Errors: one root, and messages that say all."""

from __future__ import annotations

import errno

import pytest

from transports import BindError, ConnectError, ConnectionClosed, TransportError, errors


@pytest.mark.parametrize(
    "name", ["AuthenticationError", "BindError", "ConnectError", "ConnectionClosed", "ProtocolError", "WrongPeer"]
)
def test_every_error_is_a_transport_error(name: str) -> None:
    assert issubclass(getattr(errors, name), TransportError)


def test_a_connect_error_tells_address_phase_number_and_attempts() -> None:
    error = ConnectError("refused", address="tcp://h:1", errno=errno.ECONNREFUSED, attempts=3, phase="hello")
    assert (error.address, error.errno, error.attempts, error.phase) == ("tcp://h:1", errno.ECONNREFUSED, 3, "hello")
    assert str(error) == (
        f"cannot connect to tcp://h:1: refused (phase hello, errno {errno.ECONNREFUSED} ECONNREFUSED, 3 attempts)"
    )


def test_a_connect_error_without_a_number_says_so() -> None:
    error = ConnectError("it closed the connection", address="tcp://h:1")
    assert error.errno is None
    assert str(error).endswith("(phase connect, no errno, 1 attempt)")


def test_a_bind_error_tells_address_and_number() -> None:
    error = BindError("in use", address="tcp://h:1", errno=errno.EADDRINUSE)
    assert (error.address, error.errno) == ("tcp://h:1", errno.EADDRINUSE)
    assert "cannot listen on tcp://h:1: in use" in str(error)
    assert "EADDRINUSE" in str(error)


@pytest.mark.parametrize("by_us", [True, False])
def test_a_closed_connection_tells_by_whom(by_us: bool) -> None:
    error = ConnectionClosed("over", address="tcp://h:1", by_us=by_us)
    assert (str(error), error.address, error.by_us) == ("over", "tcp://h:1", by_us)
