"""The token of a process: where it comes from, and what a file of it must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.rpc.security import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE, shared_token

SECRET = "s" * 32


@pytest.fixture
def file(tmp_path: Path, monkeypatch: Any) -> Path:
    """A file that the environment names and only this user may read."""
    path = tmp_path / "token"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.setenv(TOKEN_FILE_VARIABLE, str(path))
    return path


def test_the_file_that_the_environment_names_has_the_token(file: Path) -> None:
    assert shared_token() == SECRET
    file.write_text("renewed")
    assert shared_token() == "renewed"


def test_the_group_of_a_pod_may_read_the_file(file: Path) -> None:
    file.chmod(0o440)
    assert shared_token() == SECRET


def test_a_token_of_the_environment_itself_goes_before_the_file(file: Path, monkeypatch: Any) -> None:
    file.unlink()
    monkeypatch.setenv(TOKEN_VARIABLE, "of the environment")
    assert shared_token() == "of the environment"


@pytest.mark.parametrize("mode", [0o604, 0o602])
def test_a_file_that_everybody_may_read_or_write_is_refused_and_not_repeated(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(InvalidArgumentError, match=r"every user .* can read or write") as caught:
        shared_token()
    assert SECRET not in str(caught.value)


def test_a_file_that_is_empty_or_gone_is_named(file: Path) -> None:
    file.write_text("\n")
    with pytest.raises(InvalidArgumentError, match=f"{TOKEN_FILE_VARIABLE} .*, which is empty"):
        shared_token()
    file.unlink()
    with pytest.raises(InvalidArgumentError, match=r"cannot be read: .*No such file"):
        shared_token()


async def test_servers_and_sessions_use_the_token_of_the_file(file: Path, monkeypatch: Any) -> None:
    graph = acts.Graph()
    with graph.as_default():
        total = acts.constant(1.0) + 2.0
    options = acts.ConfigProto(rpc_options=acts.RPCOptions(use_rpc_for_inprocess_master=True))
    async with acts.Server({"worker": ["127.0.0.1:0"]}, "worker") as server:
        async with acts.AsyncSession(server.target, graph, options) as session:
            assert await session.run(total) == 3.0
        file.write_text("another token, as long as the one before")
        with pytest.raises(acts.errors.OpError, match="token"):
            async with acts.AsyncSession(server.target, graph, options) as session:
                await session.run(total)
