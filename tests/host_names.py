"""Host names that mean what a test says, on the running event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest


def family_of(address: str) -> socket.AddressFamily:
    """The family of a numeric address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def resolve_names(monkeypatch: pytest.MonkeyPatch, addresses_of: Callable[[str], Sequence[str] | None]) -> None:
    """Answer look-ups of host names from now on; skip the test on uvloop, whose look-up cannot be replaced.

    Args:
        monkeypatch: undoes it.
        addresses_of: returns the numeric addresses of a name; ``None`` leaves it to the system.
    """
    loop = asyncio.get_running_loop()
    if not hasattr(loop, "__dict__"):
        pytest.skip("uvloop's look-up cannot be replaced; the code is the same")
    look_up = loop.getaddrinfo

    async def resolve(host: str, port: int, **options: Any) -> Any:
        addresses = addresses_of(host)
        if addresses is None:
            return await look_up(host, port, **options)
        return [(family_of(address), socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
