"""Mutual TLS over real sockets: who is let in, who is not, and what both sides are told."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.transports.authority import Authority, trusting
from tests.transports.peers import PS, WORKER, assert_echoes, echo, linked, log_of_transports, open_raw, refuse_to_serve
from transports import (
    AuthenticationError,
    BindError,
    ConnectError,
    ConnectionClosed,
    Frame,
    Listener,
    ProtocolError,
    SecurityConfig,
    connect,
    listen,
    parse_address,
)
from transports.security import SecurityFault, make_context, tls_error

LOOPBACK = "tls://127.0.0.1:0"


@asynccontextmanager
async def listening(
    files: SecurityConfig, address: str = LOOPBACK
) -> AsyncIterator[tuple[Listener, asyncio.Queue[str]]]:
    """Yield an echo listener, and what it says in the log above debug."""
    said: asyncio.Queue[str] = asyncio.Queue()
    with log_of_transports() as records:

        async def follow() -> None:
            while True:
                record = await records.get()
                said.put_nowait(record.getMessage())

        following = asyncio.get_running_loop().create_task(follow())
        try:
            async with await listen(address, PS, echo, security=files) as listener:
                yield listener, said
        finally:
            following.cancel()
            await asyncio.wait({following})


async def assert_serves(listener: Listener, files: SecurityConfig) -> None:
    """Check that a listener still does what it is there for."""
    async with await connect(listener.address, WORKER, timeout=60, security=files) as connection:
        await assert_echoes(connection)


# -- peers that belong together ----------------------------------------------------------------------
async def test_what_travels_is_encrypted(files: SecurityConfig) -> None:
    """A relay between the two sees neither the hello nor a frame."""
    seen = bytearray()

    async with listening(files) as (listener, _):
        port = parse_address(listener.address).port

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            onward = await asyncio.open_connection("127.0.0.1", port)

            async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(2**16):
                    seen.extend(data)
                    sink.write(data)
                sink.close()
                await sink.wait_closed()

            await asyncio.gather(copy(reader, onward[1]), copy(onward[0], writer))

        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        between = server.sockets[0].getsockname()[1]
        connection = await connect(f"tls://127.0.0.1:{between}", WORKER, security=files, timeout=60)
        connection.write(Frame(b"attack at dawn" * 10))
        assert (await connection.recv()).header == b"attack at dawn" * 10
        await connection.aclose()
        server.close()
        await asyncio.sleep(0)
    assert len(seen) > 1000
    assert b"dawn" not in seen
    assert WORKER.task.encode() not in seen


async def test_tls_1_3_is_spoken_by_the_built_in_peers(files: SecurityConfig) -> None:
    async with listening(files) as (listener, _), await connect(listener.address, WORKER, security=files) as connection:
        tls = connection._transport.get_extra_info("ssl_object")  # type: ignore[attr-defined]
        assert tls.version() == "TLSv1.3"
        assert tls.getpeercert()["subjectAltName"]


async def test_other_machines_may_be_served_without_a_token(files: SecurityConfig) -> None:
    async with listening(files, "tls://0.0.0.0:0") as (listener, _):
        port = parse_address(listener.address).port
        address = f"tls://localhost:{port}"
        async with await connect(address, WORKER, security=files, timeout=60) as connection:
            await assert_echoes(connection)


async def test_a_token_is_asked_for_inside_tls_where_there_is_one(files: SecurityConfig) -> None:
    async with await listen(LOOPBACK, PS, echo, token="secret", security=files) as listener:
        with pytest.raises(AuthenticationError, match=r"token"):
            await connect(listener.address, WORKER, security=files)
        async with await connect(listener.address, WORKER, token="secret", security=files) as connection:
            assert connection.peer == PS


async def test_the_host_name_that_was_given_is_the_one_that_others_dial(files: SecurityConfig) -> None:
    async with listening(files, "tls://localhost:0") as (listener, _):
        address = parse_address(listener.address)
        assert address.host == "localhost"
        assert address.port
        await assert_serves(listener, files)


async def test_renewed_files_count_for_the_next_connection(authority: Authority) -> None:
    files = authority.files("renewed", ended=True)
    async with listening(authority.files("steady")) as (listener, _):
        with pytest.raises(AuthenticationError, match=r"our certificate: it has expired"):
            await connect(listener.address, WORKER, security=files, timeout=60)
        authority.files("renewed")
        await assert_serves(listener, files)


# -- strangers ---------------------------------------------------------------------------------------
async def test_a_certificate_of_another_ca_is_refused_on_both_sides(tmp_path: Path, files: SecurityConfig) -> None:
    stranger = Authority(tmp_path / "other").files()
    async with listening(files) as (listener, said):
        with pytest.raises(AuthenticationError, match=r"it is not signed by our CA") as caught:
            await connect(listener.address, WORKER, security=stranger, timeout=60)
        assert caught.value.address == listener.address
        assert "the peer does not know the CA" in await said.get()
        await assert_serves(listener, files)


async def test_a_dialler_whose_certificate_is_a_strangers_hears_it_from_the_listener(
    tmp_path: Path, authority: Authority, files: SecurityConfig
) -> None:
    """It trusts the listener, so TLS stands on its side when the verdict comes."""
    stranger = trusting(Authority(tmp_path / "other").files(), authority)
    async with listening(files) as (listener, said):
        with pytest.raises(AuthenticationError, match=r"does not know the CA that signed our certificate"):
            await connect(listener.address, WORKER, security=stranger, timeout=60)
        assert "it is not signed by our CA" in await said.get()
        await assert_serves(listener, files)


async def test_an_expired_certificate_of_the_listener_is_refused(authority: Authority) -> None:
    async with listening(authority.files("old", ended=True)) as (listener, said):
        with pytest.raises(AuthenticationError, match=r"certificate has expired"):
            await connect(listener.address, WORKER, security=authority.files(), timeout=60)
        assert "expired" in await said.get()


async def test_an_expired_certificate_of_the_dialler_is_refused(authority: Authority, files: SecurityConfig) -> None:
    async with listening(files) as (listener, said):
        with pytest.raises(AuthenticationError, match=r"our certificate: it has expired"):
            await connect(listener.address, WORKER, security=authority.files("old", ended=True), timeout=60)
        assert "certificate has expired" in await said.get()
        await assert_serves(listener, files)


async def test_a_listener_with_the_certificate_of_another_is_refused(
    authority: Authority, files: SecurityConfig
) -> None:
    elsewhere = authority.files("elsewhere", hosts=("ps0.example",))
    async with listening(elsewhere) as (listener, _):
        with pytest.raises(AuthenticationError, match=r"ismatch.*127.0.0.1.*; connect to a name that"):
            await connect(listener.address, WORKER, security=files, timeout=60)


async def test_a_diallers_certificate_may_name_any_host(authority: Authority, files: SecurityConfig) -> None:
    async with listening(files) as (listener, _):
        await assert_serves(listener, authority.files("elsewhere", hosts=("ps0.example",)))


async def test_a_dialler_without_a_certificate_is_refused_and_told(files: SecurityConfig, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    async with listening(files) as (listener, said):
        port = parse_address(listener.address).port
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate required"):
            await reader.read()
        writer.transport.abort()
        assert "the peer presented no certificate" in await said.get()
        await assert_serves(listener, files)


async def test_old_versions_of_tls_are_not_spoken(files: SecurityConfig, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    context.load_cert_chain(files.certificate_file, files.key_file)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with listening(files) as (listener, said):
        port = parse_address(listener.address).port
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("localhost", port, ssl=context)
        assert "does not support TLS 1.2 or newer" in await said.get()


# -- the wrong door ----------------------------------------------------------------------------------
async def test_a_plain_dialler_at_a_tls_port_is_told_so(files: SecurityConfig) -> None:
    async with listening(files) as (listener, said):
        plain = listener.address.replace("tls:", "tcp:")
        with pytest.raises(ProtocolError, match=r"this port speaks TLS.*connect to it with tls://"):
            await connect(plain, WORKER, timeout=60)
        assert "this port speaks TLS" in await said.get()
        await assert_serves(listener, files)


async def test_a_tls_dialler_at_a_plain_port_is_told_so(files: SecurityConfig) -> None:
    with log_of_transports() as records:
        async with await listen("tcp://127.0.0.1:0", PS, echo) as listener:
            secret = listener.address.replace("tcp:", "tls:")
            with pytest.raises(ProtocolError, match=r"does not speak TLS; connect to it with tcp://"):
                await connect(secret, WORKER, security=files, timeout=60)
            assert "the client speaks TLS and this port does not" in (await records.get()).getMessage()


async def test_a_plain_dialler_at_a_tls_port_of_somebody_else_is_told_so() -> None:
    """A web server answers what is no TLS with an alert, here "unexpected message"."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x0a")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(ProtocolError, match=r"it speaks TLS; connect to it with tls://"):
        await connect(address, WORKER, timeout=60)
    server.close()
    await asyncio.sleep(0)


async def test_a_tls_dialler_at_another_kind_of_server_is_told_so(files: SecurityConfig) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.7\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(ProtocolError, match=r"does not speak TLS"):
        await connect(address, WORKER, security=files, timeout=60)
    server.close()
    await asyncio.sleep(0)


async def test_a_port_that_hangs_up_or_is_silent_says_in_which_phase(files: SecurityConfig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tls://127.0.0.1:{server.getsockname()[1]}"
        for timeout in [0.05, 0.5, 5.0, 50.0]:  # a busy machine may not have sent anything so soon
            with pytest.raises(ConnectError) as caught:
                await connect(address, WORKER, security=files, timeout=timeout)
            if caught.value.phase == "tls":
                break
        assert f"no answer within {timeout:g} s (phase tls" in str(caught.value)
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                server.accept()[0].close()  # of the diallers that gave up
        loop = asyncio.get_running_loop()
        dialling = loop.create_task(connect(address, WORKER, security=files, timeout=60))
        accepted, _ = await loop.sock_accept(server)
        accepted.setblocking(False)
        await loop.sock_recv(accepted, 2**16)
        accepted.close()
        with pytest.raises(ConnectError, match=r"during the TLS handshake"):
            await dialling


# -- our own files -----------------------------------------------------------------------------------
async def test_listening_without_files_is_refused() -> None:
    with pytest.raises(BindError, match=r"tls:// needs a CA, a certificate and its key"):
        await listen(LOOPBACK, PS, refuse_to_serve)


async def test_dialling_without_files_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ConnectError, match=r"none were given") as caught:
        await connect("tls://127.0.0.1:1", WORKER)
    assert caught.value.phase == "security"


async def test_files_that_do_not_do_are_named_and_a_given_socket_is_closed(authority: Authority) -> None:
    broken = SecurityConfig(ca_file=str(authority.ca_file), certificate_file="/no/cert.pem", key_file="/no/key.pem")
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    with pytest.raises(BindError, match=r"the certificate_file '/no/cert.pem' cannot be read"):
        await listen(LOOPBACK, PS, refuse_to_serve, security=broken, sock=sock)
    assert sock.fileno() == -1
    with pytest.raises(ConnectError, match=r"the certificate_file '/no/cert.pem' cannot be read"):
        await connect("tls://127.0.0.1:1", WORKER, security=broken)


# -- the end -----------------------------------------------------------------------------------------
async def test_a_stream_cut_off_below_tls_is_no_orderly_end(files: SecurityConfig) -> None:
    """Who can cut the stream cannot say the farewell, which is encrypted."""
    async with linked(LOOPBACK, security=files) as (dialled, accepted):
        accepted._transport._plain_transport.abort()  # type: ignore[attr-defined]
        with pytest.raises(ConnectionClosed, match=r"ended before TLS was shut down|reset") as caught:
            await dialled.recv()
        assert not caught.value.by_us


async def test_bytes_changed_on_the_way_end_the_connection(files: SecurityConfig) -> None:
    async with linked(LOOPBACK, security=files) as (dialled, accepted):
        # A record of application data that nobody with the keys has made.
        dialled._transport._plain_transport.write(b"\x17\x03\x03\x00\x20" + bytes(32))  # type: ignore[attr-defined]
        with pytest.raises(ConnectionClosed, match=r"(?i)MAC|decrypt"):
            await accepted.recv()


async def test_silent_strangers_do_not_hold_up_a_close(files: SecurityConfig) -> None:
    listener = await listen(LOOPBACK, PS, echo, security=files)
    streams = [await open_raw(listener) for _ in range(3)]
    async with asyncio.timeout(60):
        await listener.aclose()
    for _, writer in streams:
        writer.transport.abort()


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
