"""Where the conformance suite listens: once per transport."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.transports.authority import Authority
from tests.transports.peers import linked
from transports import Address, Connection, SecurityConfig, register_transport
from transports.shm import arena, lane
from transports.stream import peer_user as users
from transports.stream.listener import Secure
from transports.stream.tls_transport import TlsTransport

# Sockets as any of ``unix``, but for their names, which ``test_abstract.py`` is about.
ABSTRACT = pytest.param("abstract", marks=pytest.mark.whole)


class SecuredTransport(TlsTransport):
    """Has files of its own for whoever gives none, as all of the conformance suite does."""

    def __init__(self, files: SecurityConfig) -> None:
        self._files = files

    def _dialling(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        return super()._dialling(address, security or self._files)

    def _accepting(self, address: Address, security: SecurityConfig | None) -> Secure | None:
        return super()._accepting(address, security or self._files)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the CA that peers of the tests have in common."""
    return Authority(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="session")
def files(authority: Authority) -> SecurityConfig:
    """Return the files of a peer that others trust."""
    return authority.files()


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    """Return a path for a socket; those have to be shorter than a hundred bytes or so."""
    path = tmp_path / "s"
    assert len(str(path)) < 100
    return path


@pytest.fixture
def socket_name() -> str:
    """Return a name for a socket that nobody else has."""
    return f"actorsession-test-{secrets.token_hex(8)}"


@pytest.fixture(params=["tcp", "unix", ABSTRACT])
def socket_address(request: pytest.FixtureRequest, socket_path: Path, socket_name: str) -> str:
    """Return where to listen over a stream, on each kind of socket."""
    return {"tcp": "tcp://127.0.0.1:0", "unix": f"unix://{socket_path}", "abstract": f"abstract://{socket_name}"}[
        request.param
    ]


@pytest.fixture(params=["tcp", "tls", "unix", ABSTRACT, "inproc"])
def address(request: Any, socket_path: Path, socket_name: str, files: SecurityConfig) -> Iterator[str]:
    """Yield where to listen, on each transport."""
    register_transport("tls", SecuredTransport(files), replace=True)
    yield {
        "tcp": "tcp://127.0.0.1:0",
        "tls": "tls://127.0.0.1:0",
        "unix": f"unix://{socket_path}",
        "abstract": f"abstract://{socket_name}",
        "inproc": "inproc://conformance",
    }[request.param]
    register_transport("tls", TlsTransport(), replace=True)


@pytest.fixture
async def ends(address: str) -> AsyncIterator[tuple[Connection, Connection]]:
    """Yield the dialled and the accepted end of one connection, on each transport."""
    async with linked(address) as made:
        yield made


@pytest.fixture
def dialled(ends: tuple[Connection, Connection]) -> Connection:
    return ends[0]


@pytest.fixture
def accepted(ends: tuple[Connection, Connection]) -> Connection:
    return ends[1]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets limits of shared memory for the test, by their names."""

    def set_limits(**limits: Any) -> None:
        for name, value in limits.items():
            monkeypatch.setattr(arena if hasattr(arena, name) else lane, name, value)

    return set_limits


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is looked at in place of ``/proc``."""
    monkeypatch.setattr(users, "_PROC", tmp_path)
    return tmp_path
