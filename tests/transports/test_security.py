"""The three files of TLS: where they are named, and what is wrong with them, in words."""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.transports.authority import Authority
from transports import AuthenticationError, ProtocolError, SecurityConfig
from transports.security import SecurityFault, make_context, tls_error

VARIABLES = {
    "ACTORSESSION_TLS_CA": "/certs/ca.pem",
    "ACTORSESSION_TLS_CERT": "/certs/cert.pem",
    "ACTORSESSION_TLS_KEY": "/certs/key.pem",
}


def test_an_environment_that_names_no_file_gives_no_security() -> None:
    assert SecurityConfig.from_environment({}) is None
    assert SecurityConfig.from_environment({"ACTORSESSION_TLS_CA": ""}) is None


def test_three_variables_name_the_three_files() -> None:
    assert SecurityConfig.from_environment(VARIABLES) == SecurityConfig(
        ca_file="/certs/ca.pem", certificate_file="/certs/cert.pem", key_file="/certs/key.pem"
    )


@pytest.mark.parametrize("missing", VARIABLES)
def test_a_variable_that_is_missing_is_named(missing: str) -> None:
    rest = {name: path for name, path in VARIABLES.items() if name != missing}
    with pytest.raises(ValueError, match=rf"{missing} of the environment names none"):
        SecurityConfig.from_environment(rest)


def test_the_process_has_the_environment_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in VARIABLES.items():
        monkeypatch.setenv(name, path)
    found = SecurityConfig.from_environment()
    assert found is not None
    assert found.key_file == "/certs/key.pem"


def test_paths_of_any_kind_are_taken_and_an_empty_one_is_not() -> None:
    config = SecurityConfig(ca_file=Path("/ca"), certificate_file="c", key_file="k")  # type: ignore[arg-type]
    assert config.ca_file == "/ca"
    with pytest.raises(ValueError, match=r"key_file is empty"):
        replace(config, key_file="")


@pytest.mark.parametrize("server_side", [False, True])
def test_a_context_demands_a_certificate_and_speaks_no_old_version(files: SecurityConfig, server_side: bool) -> None:
    context = make_context(files, server_side=server_side)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.check_hostname is not server_side


def test_no_files_at_all_say_where_they_may_be_named() -> None:
    with pytest.raises(SecurityFault, match=r"none were given; .*ACTORSESSION_TLS_CA"):
        make_context(None, server_side=True)


@pytest.mark.parametrize("which", ["ca_file", "certificate_file", "key_file"])
def test_a_file_that_is_missing_is_named(files: SecurityConfig, which: str) -> None:
    broken = replace(files, **{which: "/no/such/file.pem"})
    with pytest.raises(SecurityFault, match=rf"the {which} '/no/such/file.pem' cannot be read: No"):
        make_context(broken, server_side=False)


@pytest.mark.parametrize(
    ("which", "complaint"),
    [
        ("ca_file", r"the ca_file '.*nonsense.pem' contains no certificate"),
        ("certificate_file", r"'.*nonsense.pem' and the key_file '.*' do not contain"),
        ("key_file", r"the key_file '.*nonsense.pem' do not contain"),
    ],
)
def test_a_file_that_is_no_pem_is_named(files: SecurityConfig, tmp_path: Path, which: str, complaint: str) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("hello\n")
    with pytest.raises(SecurityFault, match=complaint):
        make_context(replace(files, **{which: str(nonsense)}), server_side=False)


def test_a_key_of_another_certificate_is_told_apart(authority: Authority) -> None:
    one, other = authority.files("one"), authority.files("other")
    with pytest.raises(SecurityFault, match=r"other-key.pem' is not the key of .*one.pem'"):
        make_context(replace(one, key_file=other.key_file), server_side=True)


def test_a_locked_key_asks_nobody_at_the_terminal(files: SecurityConfig, tmp_path: Path) -> None:
    key = serialization.load_pem_private_key(Path(files.key_file).read_bytes(), None)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(SecurityFault, match=r"locked.pem' is encrypted with a passphrase"):
        make_context(replace(files, key_file=str(locked)), server_side=True)


def _alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "kind", "words"),
    [
        ("TLSV1_ALERT_UNKNOWN_CA", AuthenticationError, "both sides need the same ca_file"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", AuthenticationError, "received none"),
        ("UNSUPPORTED_PROTOCOL", ProtocolError, "does not support TLS 1.2 or newer"),
        ("SOMETHING_NEW", ProtocolError, "the TLS handshake failed: SOMETHING_NEW"),
    ],
)
def test_what_openssl_says_is_told_in_words(reason: str, kind: type[Exception], words: str) -> None:
    told = tls_error(_alert(reason), "tls://h:1")
    assert type(told) is kind
    assert words in str(told)
    assert told.address == "tls://h:1"
