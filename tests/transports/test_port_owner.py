"""A port that is taken: the error says by whom."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.transports.peers import PS, echo
from transports import BindError, listen
from transports.stream.port_owner import port_owner

needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")


@needs_proc
async def test_the_error_of_a_port_that_is_taken_names_the_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BindError, match=rf"in use, by process {os.getpid()} \(") as caught:
            await listen(f"tcp://127.0.0.1:{port}", PS, echo)
    assert caught.value.owner_pid == os.getpid()


@needs_proc
def test_a_port_of_nobody_has_no_owner() -> None:
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        assert port_owner(bound.getsockname()[1]) is None


def test_a_kernel_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    assert port_owner(80, tmp_path) is None
    assert port_owner(80, tmp_path / "none") is None


def test_a_process_that_may_not_be_looked_at_is_passed_over(tmp_path: Path) -> None:
    """Others are looked at nevertheless; who holds the socket is found in the links of its descriptors."""
    (tmp_path / "net").mkdir()
    line = "   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1"
    (tmp_path / "net" / "tcp").write_text(f"  sl  local_address\n{line}\n")
    (tmp_path / "12").mkdir()
    folder = tmp_path / "34" / "fd"
    folder.mkdir(parents=True)
    (folder / "3").symlink_to("socket:[4711]")
    (tmp_path / "34" / "comm").write_text("postgres\n")
    assert port_owner(80, tmp_path) == (34, "postgres")
    assert port_owner(81, tmp_path) is None
