"""Where the conformance suite listens: once per transport."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    """Return a path for a socket; those have to be shorter than a hundred bytes or so."""
    path = tmp_path / "s"
    assert len(str(path)) < 100
    return path


@pytest.fixture(params=["tcp", "unix"])
def socket_address(request: pytest.FixtureRequest, socket_path: Path) -> str:
    """Return where to listen over a stream, on each kind of socket."""
    return {"tcp": "tcp://127.0.0.1:0", "unix": f"unix://{socket_path}"}[request.param]


@pytest.fixture(params=["tcp", "unix", "inproc"])
def address(request: pytest.FixtureRequest, socket_path: Path) -> str:
    """Return where to listen, on each transport."""
    return {
        "tcp": "tcp://127.0.0.1:0",
        "unix": f"unix://{socket_path}",
        "inproc": "inproc://conformance",
    }[request.param]
