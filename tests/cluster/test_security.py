"""Clusters that are secured: TLS between processes, tokens, and addresses that ask for either."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, SecurityConfig, Server, ServerSettings, cli, ops
from actorsession.cluster import read_statistics
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import InvalidArgumentError, UnauthenticatedError, UnavailableError, UnknownError
from tests.cluster.kit import W0, W1, on, soon
from tests.cluster.script import command, environment, running
from tests.host_names import resolve_names
from tests.transports.authority import Authority

VARIABLES = ("ACTORSESSION_TLS_CA", "ACTORSESSION_TLS_CERT", "ACTORSESSION_TLS_KEY")
ONE = {"worker": ["127.0.0.1:0"]}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="module")
def files(authority: Authority) -> SecurityConfig:
    return authority.files()


@pytest.fixture
def files_in_environment(files: SecurityConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in files.to_environment().items():
        monkeypatch.setenv(name, path)


def with_files(files: SecurityConfig, **options: Any) -> ConfigProto:
    return ConfigProto(
        rpc_options=RPCOptions(
            use_rpc_for_inprocess_master=True,
            ca_file=files.ca_file,
            certificate_file=files.certificate_file,
            key_file=files.key_file,
        ),
        **options,
    )


# -- who gives the files -------------------------------------------------------------------------------


async def test_a_server_with_files_serves_by_tls_and_sessions_reach_it(files: SecurityConfig, graph: Graph) -> None:
    total = ops.constant(1.0) + ops.constant(2.0)
    async with Server(ONE, "worker", settings=ServerSettings(security=files)) as server:
        assert server.target.startswith("tls://127.0.0.1:")
        async with AsyncSession(server.target, graph, with_files(files)) as session:
            assert await session.run(total) == 3.0
        assert (await read_statistics(server.target, security=files)).task == W0


@pytest.mark.usefixtures("files_in_environment")
async def test_the_environment_gives_the_files_to_servers_sessions_and_inquiries(graph: Graph) -> None:
    total = ops.constant(1.0) + ops.constant(2.0)
    options = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True))
    async with Server(ONE, "worker") as server:
        assert server.target.startswith("tls://127.0.0.1:")
        async with AsyncSession(server.target, graph, options) as session:
            assert await session.run(total) == 3.0
        assert (await read_statistics(server.target)).task == W0


@pytest.mark.usefixtures("files_in_environment")
async def test_an_address_that_says_tcp_is_taken_at_its_word_with_files_in_the_environment() -> None:
    async with Server({"worker": ["tcp://127.0.0.1:0"]}, "worker") as server:
        assert server.target.startswith("tcp://127.0.0.1:")


def test_files_that_would_not_be_used_are_refused(files: SecurityConfig) -> None:
    with pytest.raises(InvalidArgumentError, match=r"would not use them.*write tls://127.0.0.1:0"):
        Server({"worker": ["tcp://127.0.0.1:0"]}, "worker", settings=ServerSettings(security=files))


def test_an_environment_with_some_of_the_files_is_refused(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> None:
    monkeypatch.setenv(VARIABLES[0], "/certs/ca.pem")
    complaint = rf"{VARIABLES[1]} and {VARIABLES[2]} of the environment name none"
    with pytest.raises(InvalidArgumentError, match=complaint):
        Server(ONE, "worker")
    with pytest.raises(InvalidArgumentError, match=complaint):
        AsyncSession("tls://127.0.0.1:1", graph)


async def test_a_server_says_which_file_is_missing(files: SecurityConfig) -> None:
    broken = replace(files, key_file="/no/such/key.pem")
    with pytest.raises(UnknownError, match=r"the key_file '/no/such/key.pem' cannot be read"):
        await Server(ONE, "worker", settings=ServerSettings(security=broken)).start()


async def test_a_session_says_at_once_which_file_is_missing(files: SecurityConfig, graph: Graph) -> None:
    broken = replace(files, ca_file="/no/such/ca.pem")
    session = AsyncSession("tls://127.0.0.1:1", graph, with_files(broken))
    with pytest.raises(InvalidArgumentError, match=r"the ca_file '/no/such/ca.pem' cannot be read"):
        await asyncio.wait_for(session.__aenter__(), 5)  # and does not try for 30 s


async def test_a_session_without_files_says_how_to_name_them(graph: Graph) -> None:
    session = AsyncSession("tls://127.0.0.1:1", graph)
    with pytest.raises(InvalidArgumentError, match=r"none were given; .*ACTORSESSION_TLS_CA"):
        await session.__aenter__()


def test_options_take_all_three_files_or_none() -> None:
    with pytest.raises(InvalidArgumentError, match=r"certificate_file and key_file of RPCOptions"):
        RPCOptions(ca_file="/certs/ca.pem")


def test_a_masters_config_does_not_learn_the_files(files: SecurityConfig) -> None:
    wire = with_files(files).to_wire()
    assert files.key_file not in repr(wire)
    assert ConfigProto.from_wire(wire).rpc_options == RPCOptions(use_rpc_for_inprocess_master=True)


# -- who is let in ---------------------------------------------------------------------------------------


async def test_a_session_with_the_certificate_of_another_ca_is_unauthenticated(
    files: SecurityConfig, graph: Graph, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "other").files()
    async with Server(ONE, "worker", settings=ServerSettings(security=files)) as server:
        session = AsyncSession(server.target, graph, with_files(stranger))
        with pytest.raises(UnauthenticatedError, match=r"it is not signed by our CA"):
            await soon(session.__aenter__())


async def test_a_plain_session_at_a_tls_master_is_told_what_to_write(files: SecurityConfig, graph: Graph) -> None:
    async with Server(ONE, "worker", settings=ServerSettings(security=files)) as server:
        session = AsyncSession(server.target.replace("tls:", "tcp:"), graph)
        with pytest.raises(UnavailableError, match=r"this port speaks TLS.*connect to it with tls://"):
            await soon(session.__aenter__())


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
async def test_other_machines_are_served_with_a_token_or_tls_and_not_without(host: str, files: SecurityConfig) -> None:
    with pytest.raises(UnknownError, match=r"ACTORSESSION_TOKEN.*tls://.*listen on 127.0.0.1"):
        await Server({"worker": [f"{host}:0"]}, "worker").start()
    async with Server({"worker": [f"{host}:0"]}, "worker", settings=ServerSettings(token="sixteen or more.")) as server:
        assert server.target.startswith(f"tcp://{host}:")
    async with Server({"worker": [f"{host}:0"]}, "worker", settings=ServerSettings(security=files)) as server:
        assert server.target.startswith(f"tls://{host}:")


async def test_a_host_name_of_more_than_loopback_needs_a_token_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which address a name stands for decides, not how it looks."""
    resolve_names(monkeypatch, {"ps0.example": ["0.0.0.0"]}.__getitem__)
    with pytest.raises(UnknownError, match=r"0.0.0.0 is not a loopback address"):
        await Server({"worker": ["ps0.example:0"]}, "worker").start()


# -- processes -------------------------------------------------------------------------------------------


@pytest.mark.process
async def test_a_local_cluster_with_files_runs_steps_over_tls_only(files: SecurityConfig, graph: Graph) -> None:
    with on(W0):
        v = ops.Variable(np.arange(6.0, dtype=np.float32).reshape(2, 3), name="v")
        large = ops.fill([512, 512], 2.0)
    with on(W1):
        doubled = v * 2.0
        total = ops.reduce_sum(large)
    async with LocalCluster({"worker": 2}, security=files) as cluster:
        assert all(p.address.startswith("tls://") for p in cluster.processes.values())
        config = with_files(files)
        async with AsyncSession(cluster.target("worker"), graph, config) as session:
            await session.run(ops.global_variables_initializer())
            assert (await session.run(doubled)).tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
            assert await session.run(total) == 2.0 * 512 * 512
            seen = await cluster.statistics()
        peers = {link.address for found in seen.values() for link in found.peers}
        assert peers
        assert all(address.startswith("tls://") for address in peers)


@pytest.mark.process
async def test_workers_take_their_files_from_the_command_line(files: SecurityConfig, graph: Graph) -> None:
    flags = ("--tls-ca", files.ca_file, "--tls-cert", files.certificate_file)
    async with worker(*flags, "--tls-key", files.key_file) as said:
        assert said["address"].startswith("tls://127.0.0.1:")
        total = ops.constant(1.0) + ops.constant(2.0)
        async with AsyncSession(said["address"], graph, with_files(files)) as session:
            assert await session.run(total) == 3.0


@pytest.mark.process
async def test_a_worker_with_two_of_three_files_says_which_is_missing(files: SecurityConfig) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        "--tls-ca",
        files.ca_file,
        "--tls-cert",
        files.certificate_file,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, told = await process.communicate()
    assert (out, process.returncode) == (b"", 2)
    assert b"--tls-key is missing" in told
    assert b"Traceback" not in told


@pytest.mark.process
def test_an_operators_commands_make_certificates_serve_look_and_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of the documentation, with the files in the environment."""
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> dict[str, Any]:
        code = cli.main([*words, "--json"])
        out, err = capsys.readouterr()
        assert code == 0, (out, err)
        found: dict[str, Any] = json.loads(out)
        return found

    made = said("certs", "--out", "certs", "--hosts", "ps0.example,worker0.example,10.0.0.7")
    later = said("certs", "--out", "certs-later", "--ca", "certs", "--hosts", "worker1.example")
    assert later["ca_file"] == made["ca_file"]
    files = dict(zip(VARIABLES, ("certs/ca.pem", "certs/cert.pem", "certs/key.pem"), strict=True))
    words = command("worker", "--cluster", json.dumps(ONE), "--json")
    with running(words, cwd=tmp_path, env=environment(**files)) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        assert address.startswith("tls://127.0.0.1:")
        assert cli.main(["status", address]) == 2
        out, err = capsys.readouterr()
        assert "none were given" in out + err
        for name, path in files.items():
            monkeypatch.setenv(name, path)
        assert W0 in json.dumps(said("status", address))
        assert W0 in json.dumps(said("status", address.removeprefix("tls://")))
        said("stop", address)
        assert process.wait(timeout=60) == 0


COMMAND = (sys.executable, "-m", "actorsession", "worker", "--cluster", json.dumps(ONE), "--json")


@asynccontextmanager
async def worker(*flags: str) -> AsyncIterator[dict[str, Any]]:
    """Yields what a worker process says of itself."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *flags, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert process.stdout is not None
    try:
        yield json.loads(await soon(process.stdout.readline()))
    finally:
        process.terminate()
        await soon(process.communicate())
