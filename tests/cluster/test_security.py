"""Clusters that are secured: TLS between processes, tokens, and addresses that ask for either."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from actorsession import AsyncSession, Graph, LocalCluster, SecurityConfig, Server, ServerSettings, cli, errors, ops
from actorsession.cli import main
from actorsession.cluster import read_statistics
from actorsession.cluster.admin import certs
from actorsession.cluster.admin.certs import LOOPBACK_HOSTS, make_certificates
from actorsession.config import ConfigProto, RPCOptions
from tests.cluster.kit import W0, W1, on, soon
from tests.cluster.script import command, environment, running
from tests.host_names import resolve_names
from tests.template import cold_starts
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


@pytest.mark.parametrize("tls", [True, False])
async def test_an_address_without_a_scheme_means_the_same_to_all_who_take_one(
    tls: bool, request: pytest.FixtureRequest, graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    if tls:
        request.getfixturevalue("files_in_environment")
    total = ops.constant(1.0) + ops.constant(2.0)
    options = ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True))
    async with Server(ONE, "worker") as server:
        scheme, _, bare = server.target.partition("://")
        assert scheme == ("tls" if tls else "tcp")
        async with AsyncSession(bare, graph, options) as session:
            assert await session.run(total) == 3.0
        await AsyncSession.reset(f"{bare},{bare}", config=options)
        assert (await read_statistics(bare)).task == W0
        assert await asyncio.to_thread(main, ["status", bare]) == 0
        assert bare in capsys.readouterr().out


@pytest.mark.usefixtures("files_in_environment")
async def test_an_address_that_says_tcp_is_taken_at_its_word_with_files_in_the_environment() -> None:
    async with Server({"worker": ["tcp://127.0.0.1:0"]}, "worker") as server:
        assert server.target.startswith("tcp://127.0.0.1:")


def test_files_that_would_not_be_used_are_refused(files: SecurityConfig) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"would not use them.*write tls://127.0.0.1:0"):
        Server({"worker": ["tcp://127.0.0.1:0"]}, "worker", settings=ServerSettings(security=files))


def test_an_environment_with_some_of_the_files_is_refused(monkeypatch: pytest.MonkeyPatch, graph: Graph) -> None:
    monkeypatch.setenv(VARIABLES[0], "/certs/ca.pem")
    complaint = rf"{VARIABLES[1]} and {VARIABLES[2]} of the environment name none"
    with pytest.raises(errors.InvalidArgumentError, match=complaint):
        Server(ONE, "worker")
    with pytest.raises(errors.InvalidArgumentError, match=complaint):
        AsyncSession("tls://127.0.0.1:1", graph)


async def test_a_server_says_which_file_is_missing(files: SecurityConfig) -> None:
    broken = replace(files, key_file="/no/such/key.pem")
    with pytest.raises(errors.UnknownError, match=r"the key_file '/no/such/key.pem' cannot be read"):
        await Server(ONE, "worker", settings=ServerSettings(security=broken)).start()


async def test_a_session_says_at_once_which_file_is_missing(files: SecurityConfig, graph: Graph) -> None:
    broken = replace(files, ca_file="/no/such/ca.pem")
    session = AsyncSession("tls://127.0.0.1:1", graph, with_files(broken))
    with pytest.raises(errors.InvalidArgumentError, match=r"the ca_file '/no/such/ca.pem' cannot be read"):
        await asyncio.wait_for(session.__aenter__(), 5)  # and does not try for 30 s


async def test_a_session_without_files_says_how_to_name_them(graph: Graph) -> None:
    session = AsyncSession("tls://127.0.0.1:1", graph)
    with pytest.raises(errors.InvalidArgumentError, match=r"none were given; .*ACTORSESSION_TLS_CA"):
        await session.__aenter__()


def test_options_take_all_three_files_or_none() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"certificate_file and key_file of RPCOptions"):
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
        with pytest.raises(errors.UnauthenticatedError, match=r"it is not signed by our CA"):
            await soon(session.__aenter__())


async def test_a_plain_session_at_a_tls_master_is_told_what_to_write(files: SecurityConfig, graph: Graph) -> None:
    async with Server(ONE, "worker", settings=ServerSettings(security=files)) as server:
        session = AsyncSession(server.target.replace("tls:", "tcp:"), graph)
        with pytest.raises(errors.UnavailableError, match=r"this port speaks TLS.*connect to it with tls://"):
            await soon(session.__aenter__())


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
async def test_other_machines_are_served_with_a_token_or_tls_and_not_without(host: str, files: SecurityConfig) -> None:
    with pytest.raises(errors.UnknownError, match=r"ACTORSESSION_TOKEN.*tls://.*listen on 127.0.0.1"):
        await Server({"worker": [f"{host}:0"]}, "worker").start()
    async with Server({"worker": [f"{host}:0"]}, "worker", settings=ServerSettings(token="sixteen or more.")) as server:
        assert server.target.startswith(f"tcp://{host}:")
    async with Server({"worker": [f"{host}:0"]}, "worker", settings=ServerSettings(security=files)) as server:
        assert server.target.startswith(f"tls://{host}:")


async def test_a_host_name_of_more_than_loopback_needs_a_token_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which address a name stands for decides, not how it looks."""
    resolve_names(monkeypatch, {"ps0.example": ["0.0.0.0"]}.__getitem__)
    with pytest.raises(errors.UnknownError, match=r"0.0.0.0 is not a loopback address"):
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


FOUR = {"ca.pem", "ca-key.pem", "cert.pem", "key.pem"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_four_files_are_made_and_the_keys_are_the_owners_alone(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "certs", ["ps0.example"])
    folder = tmp_path / "certs"
    assert {path.name for path in folder.iterdir()} == FOUR
    assert mode(folder / "ca-key.pem") == mode(folder / "key.pem") == 0o600
    assert made.ca_file == str(folder / "ca.pem")
    assert made.hosts == ("ps0.example", *LOOPBACK_HOSTS)


def test_the_certificate_names_the_hosts_and_is_for_both_ends(tmp_path: Path) -> None:
    make_certificates(tmp_path, ["ps0.example", "10.0.0.7", "localhost"], days=3)
    found = x509.load_pem_x509_certificate((tmp_path / "cert.pem").read_bytes())
    names = found.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
    assert isinstance(names, x509.SubjectAlternativeName)
    assert names.get_values_for_type(x509.DNSName) == ["ps0.example", "localhost"]
    addresses = [str(a) for a in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["10.0.0.7", "127.0.0.1", "::1"]
    purposes = found.extensions.get_extension_for_oid(ExtensionOID.EXTENDED_KEY_USAGE).value
    assert isinstance(purposes, x509.ExtendedKeyUsage)
    assert set(purposes) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert (found.not_valid_after_utc - found.not_valid_before_utc).days == 3


@pytest.mark.parametrize("existing", sorted(FOUR))
def test_nothing_is_overwritten_and_nothing_else_made(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("precious")
    with pytest.raises(errors.AlreadyExistsError, match=rf"{existing} exists and would be overwritten"):
        make_certificates(tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "precious"


@pytest.mark.parametrize("host", ["tls://a", "a:7000", "a b", "-", "a..b", "*.example", "a/b"])
def test_what_is_no_host_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"is neither a host name nor an address"):
        make_certificates(tmp_path / "certs", [host])
    assert not (tmp_path / "certs").exists()


def test_a_failure_half_way_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def fail(source: str, path: str, **more: Any) -> None:
        if path.endswith("key.pem") and "ca-" not in path:
            raise OSError(28, "No space left on device")
        link(source, path, **more)

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(errors.ResourceExhaustedError, match=r"No space left"):
        make_certificates(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_a_machine_that_joins_later_gets_a_certificate_of_the_same_ca(tmp_path: Path) -> None:
    first = make_certificates(tmp_path / "first", ["a"])
    later = make_certificates(tmp_path / "later", ["b"], ca_folder=tmp_path / "first")
    assert {path.name for path in (tmp_path / "later").iterdir()} == {"cert.pem", "key.pem"}
    assert later.ca_file == first.ca_file
    ca = x509.load_pem_x509_certificate(Path(first.ca_file).read_bytes())
    x509.load_pem_x509_certificate(Path(later.certificate_file).read_bytes()).verify_directly_issued_by(ca)


def test_a_ca_that_is_not_there_or_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match=r"ca.pem is not there"):
        make_certificates(tmp_path / "x", [], ca_folder=tmp_path)
    one = make_certificates(tmp_path / "one", [])
    two = make_certificates(tmp_path / "two", [])
    shutil.copy(two.ca_key_file, one.ca_key_file)
    with pytest.raises(errors.InvalidArgumentError, match=r"not the key of its certificate"):
        make_certificates(tmp_path / "x", [], ca_folder=tmp_path / "one")


WITHOUT_CRYPTOGRAPHY = """
import sys
sys.modules["cryptography"] = None
from actorsession.cli import main
sys.exit(main(["certs", "--out", "certificates"]))
"""


@pytest.mark.process
def test_without_cryptography_it_says_what_to_install(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_CRYPTOGRAPHY]
    with cold_starts():  # which have not imported it yet
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.search(r"pip install 'actorsession\[tls\]'.*openssl", ended.stderr)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_to_pass_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "certs"
    assert main(["certs", "--out", str(folder), "--hosts", "a.example, 10.0.0.7"]) == 0
    out = capsys.readouterr().out
    assert "a certificate for a.example, 10.0.0.7, localhost" in out
    assert f"--tls-ca {folder}/ca.pem --tls-cert {folder}/cert.pem --tls-key" in out
    assert main(["certs", "--out", str(folder)]) == 1
    told = capsys.readouterr().err
    assert told.startswith("actorsession certs: ")
    assert "would be overwritten" in told
    later = tmp_path / "later"
    assert main(["certs", "--out", str(later), "--ca", str(folder), "--hosts", "b", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["certificate_file"] == str(later / "cert.pem")
    assert said["hosts"][0] == "b"


async def _reaches(files: SecurityConfig, target: str, graph: Graph) -> bool:
    options = RPCOptions(
        use_rpc_for_inprocess_master=True,
        ca_file=files.ca_file,
        certificate_file=files.certificate_file,
        key_file=files.key_file,
    )
    async with AsyncSession(target, graph, ConfigProto(rpc_options=options)) as session:
        return bool(await session.run("three:0") == 3.0)


def _config(made: certs.Certificates) -> SecurityConfig:
    return SecurityConfig(ca_file=made.ca_file, certificate_file=made.certificate_file, key_file=made.key_file)


async def test_servers_and_clients_of_one_ca_reach_each_other_and_no_others(tmp_path: Path, graph: Graph) -> None:
    ops.constant(3.0, name="three")
    ours = make_certificates(tmp_path / "ours", ["localhost"])
    later = make_certificates(tmp_path / "later", ["other"], ca_folder=tmp_path / "ours")
    strangers = make_certificates(tmp_path / "strangers", ["localhost"])
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(security=_config(ours))) as server:
        assert await _reaches(_config(ours), server.target, graph)
        assert await _reaches(_config(later), server.target, graph)
        with pytest.raises(errors.UnauthenticatedError):
            await _reaches(_config(strangers), server.target, graph)


OPENSSL = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=my cluster CA" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout ca-key.pem -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=my cluster" \
    -keyout key.pem -out request.pem
printf "subjectAltName=DNS:localhost,IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n" \
    > extensions.txt
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 365 \
    -extfile extensions.txt -out cert.pem
"""


@pytest.mark.process
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")
async def test_what_openssl_makes_by_the_documented_lines_does_as_well(tmp_path: Path, graph: Graph) -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-ec", OPENSSL, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()
    files = SecurityConfig(
        ca_file=str(tmp_path / "ca.pem"),
        certificate_file=str(tmp_path / "cert.pem"),
        key_file=str(tmp_path / "key.pem"),
    )
    ops.constant(3.0, name="three")
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(security=files)) as server:
        assert await _reaches(files, server.target, graph)
