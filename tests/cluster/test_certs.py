"""Certificates of a cluster's own: the files, what is in them, and that they do for TLS."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from actorsession import AsyncSession, Graph, SecurityConfig, Server, ServerSettings, ops
from actorsession.cli import main
from actorsession.cluster.admin import certs
from actorsession.cluster.admin.certs import LOOPBACK_HOSTS, make_certificates
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnauthenticatedError,
)

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
    with pytest.raises(AlreadyExistsError, match=rf"{existing} exists and would be overwritten"):
        make_certificates(tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "precious"


@pytest.mark.parametrize("host", ["tls://a", "a:7000", "a b", "-", "a..b", "*.example", "a/b"])
def test_what_is_no_host_is_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is neither a host name nor an address"):
        make_certificates(tmp_path / "certs", [host])
    assert not (tmp_path / "certs").exists()


def test_a_failure_half_way_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def fail(source: str, path: str, **more: Any) -> None:
        if path.endswith("key.pem") and "ca-" not in path:
            raise OSError(28, "No space left on device")
        link(source, path, **more)

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(ResourceExhaustedError, match=r"No space left"):
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
    with pytest.raises(NotFoundError, match=r"ca.pem is not there"):
        make_certificates(tmp_path / "x", [], ca_folder=tmp_path)
    one = make_certificates(tmp_path / "one", [])
    two = make_certificates(tmp_path / "two", [])
    shutil.copy(two.ca_key_file, one.ca_key_file)
    with pytest.raises(InvalidArgumentError, match=r"not the key of its certificate"):
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
        with pytest.raises(UnauthenticatedError):
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
