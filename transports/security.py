"""Mutual TLS: its three files, the contexts made of them, and the translation of its errors.

Callers pass a ``SecurityConfig`` to ``connect`` and ``listen``; ``stream.tls_transport`` uses the contexts,
and ``tls_error`` explains why a handshake failed. The module imports ``errors`` only. Its only input is the
three files, which are read for each dialled connection, so that renewed files take effect.

Both sides present a certificate and verify the other's against one CA. The dialler also verifies that the
certificate names the host that it dialled: with a company-wide CA, the CA alone would let any machine of
the company impersonate a worker. The hello, inside TLS, identifies task and cluster. One certificate may
therefore serve all machines of a cluster, as long as it names their hosts.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, fields

from transports.errors import AuthenticationError, ProtocolError, TransportError

CA_VARIABLE = "ACTORSESSION_TLS_CA"
CERTIFICATE_VARIABLE = "ACTORSESSION_TLS_CERT"
KEY_VARIABLE = "ACTORSESSION_TLS_KEY"
VARIABLES = (CA_VARIABLE, CERTIFICATE_VARIABLE, KEY_VARIABLE)


class SecurityFault(Exception):
    """Our own TLS files are unusable; transports convert this into an error of theirs, with an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """The three PEM files of mutual TLS; they are read when a connection or listener is made.

    Attributes:
        ca_file: Certificates of the authorities that must have signed the peer's certificate.
        certificate_file: The certificate of this side, and any intermediate certificates.
        key_file: The private key of the certificate, without a passphrase.
    """

    ca_file: str
    certificate_file: str
    key_file: str

    def __post_init__(self) -> None:
        """Convert paths of any kind to strings.

        Raises:
            ValueError: A path is empty.
            TypeError: A value is not a path.
        """
        for field in fields(self):
            path = os.fspath(getattr(self, field.name))
            if not path:
                raise ValueError(f"{field.name} is empty; TLS needs three files, and each must be named")
            object.__setattr__(self, field.name, path)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> SecurityConfig | None:
        """Return the configuration given by environment variables.

        Args:
            environment: The variables; those of the process if left out.

        Returns:
            The files that ``ACTORSESSION_TLS_CA``, ``ACTORSESSION_TLS_CERT`` and ``ACTORSESSION_TLS_KEY``
            name, or None where none of the three is set.

        Raises:
            ValueError: Some of the variables are set and some are not.
        """
        known = os.environ if environment is None else environment
        paths = [known.get(name, "") for name in VARIABLES]
        if not any(paths):
            return None
        if missing := [name for name, path in zip(VARIABLES, paths, strict=True) if not path]:
            raise ValueError(
                f"TLS needs three files, and {' and '.join(missing)} of the environment "
                f"{'names' if len(missing) == 1 else 'name'} none; set all of "
                f"{', '.join(VARIABLES)}"
            )
        return cls(ca_file=paths[0], certificate_file=paths[1], key_file=paths[2])

    def to_environment(self) -> dict[str, str]:
        """Return the environment variables that pass these files to another process."""
        paths = (self.ca_file, self.certificate_file, self.key_file)
        return dict(zip(VARIABLES, map(os.path.abspath, paths), strict=True))


def make_context(security: SecurityConfig | None, *, server_side: bool) -> ssl.SSLContext:
    """Make the TLS context of one side.

    Args:
        security: The files, or None where the caller was given none.
        server_side: Whether the context is for accepting.

    Returns:
        A context for TLS 1.2 or newer that presents our certificate and requires the peer's.

    Raises:
        SecurityFault: There are no files, or they are unusable; the message names the file.
    """
    if security is None:
        raise SecurityFault(
            "tls:// needs a CA, a certificate and its key, and none were given; name the "
            f"files with SecurityConfig or with {', '.join(VARIABLES)} of the environment"
        )
    _check_readable(security)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    # A peer must not make us renegotiate repeatedly, which costs us more than the peer.
    context.options |= ssl.OP_NO_RENEGOTIATION
    if server_side:
        # Connections are long-lived and never resumed, and unread session tickets would reset a close.
        context.num_tickets = 0
    _load(context, security)
    return context


def _check_readable(security: SecurityConfig) -> None:
    """Open each file, because the ssl module reports a missing file without its name."""
    for field in fields(security):
        path = getattr(security, field.name)
        try:
            with open(path, "rb"):
                pass
        except OSError as error:
            reason = error.strerror or str(error)
            raise SecurityFault(f"the {field.name} {path!r} cannot be read: {reason}") from error


def _load(context: ssl.SSLContext, security: SecurityConfig) -> None:
    """Load the files into a context."""
    try:
        context.load_verify_locations(security.ca_file)
    except ssl.SSLError as error:
        raise SecurityFault(f"the ca_file {security.ca_file!r} contains no certificate in PEM form") from error
    certificate, key = security.certificate_file, security.key_file
    try:
        context.load_cert_chain(certificate, key, password=_no_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            words = f"the key_file {key!r} is not the key of the certificate_file {certificate!r}"
        else:
            words = (
                f"the certificate_file {certificate!r} and the key_file {key!r} do not "
                f"contain a certificate and its key in PEM form ({error.reason or error})"
            )
        raise SecurityFault(words) from error
    except _PassphraseWanted as error:
        raise SecurityFault(
            f"the key_file {key!r} is encrypted with a passphrase, which a server cannot "
            "ask for; use a key without a passphrase"
        ) from error


class _PassphraseWanted(Exception):
    """The key is encrypted."""


def _no_passphrase() -> str:
    """Raise instead of letting the ssl module prompt at the terminal."""
    raise _PassphraseWanted


# OpenSSL's reasons by name. The upper half are alerts: the peer's judgement of our certificate.
_REASONS: dict[str, str] = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a certificate and received none",
    "TLSV1_ALERT_UNKNOWN_CA": (
        "the peer does not know the CA that signed our certificate; both sides need the same ca_file"
    ),
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the peer refuses our certificate: it has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the peer does not accept our certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the peer does not accept our certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "the peer refuses our certificate: it was revoked",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": ("the peer does not accept our certificate for this end of a connection"),
    "TLSV1_ALERT_DECRYPT_ERROR": "the peer does not accept the proof of our key",
    "TLSV1_ALERT_ACCESS_DENIED": "the peer does not accept our certificate",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer presented no certificate",
}
_MISMATCH: dict[str, str] = {
    "WRONG_VERSION_NUMBER": "the peer does not speak TLS",
    "HTTP_REQUEST": "the peer speaks HTTP",
    "HTTPS_PROXY_REQUEST": "the peer speaks HTTP",
    "UNSUPPORTED_PROTOCOL": "the peer does not support TLS 1.2 or newer",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the peer supports no version of TLS that we accept",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the peer found no cipher that both sides support",
    "NO_SHARED_CIPHER": "the peer supports none of our ciphers",
}


def tls_error(error: ssl.SSLError, address: str) -> TransportError:
    """Convert a failed TLS handshake into a transport error with an explanation.

    Args:
        error: The error that the ssl module raised.
        address: The peer's address.

    Returns:
        AuthenticationError where a certificate was not accepted, ProtocolError where the bytes were not a
        supported TLS; its address is set.
    """
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        words = f"the peer's certificate is refused: {_verdict(error)}"
        return AuthenticationError(f"{address}: {words}", address=address)
    if reason in _REASONS:
        return AuthenticationError(f"{address}: {_REASONS[reason]}", address=address)
    words = _MISMATCH.get(reason, f"the TLS handshake failed: {reason or error}")
    return ProtocolError(f"{address}: {words}", address=address)


def _verdict(error: ssl.SSLCertVerificationError) -> str:
    """Return why a certificate was not accepted, and a remedy where one is known."""
    verdict = str(error.verify_message).rstrip(".")
    if "issuer" in verdict or "self-signed" in verdict or "self signed" in verdict:
        return f"it is not signed by our CA ({verdict}); both sides need the same ca_file"
    if "ismatch" in verdict:
        return f"{verdict}; connect to a name that the certificate contains, or make a certificate with this name"
    return verdict
