"""X.509: keys on the curve P-256, a CA, and certificates for both ends of connections.

The one module that imports ``cryptography``; ``certs`` imports it when certificates are made. Plain functions
from bytes to bytes, without access to files.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

__all__ = ["Pair", "new_authority", "signed_by"]

_CA_DAYS = 3650
# Clocks differ, so a certificate is valid from a little before it was made.
_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, in PEM form.

    Attributes:
        certificate: the certificate, which is public.
        key: the private key, without a passphrase.
    """

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"<Pair of a certificate of {len(self.certificate)} bytes and its key>"


def new_authority() -> Pair:
    """Create a CA that may sign certificates, but no other CA, for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("actorsession cluster CA")
    key_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(name, name, key.public_key(), _CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(key_id, critical=False)
    )
    return _pair(builder.sign(key, SHA256()), key)


def signed_by(authority: Pair, hosts: Sequence[str], days: int) -> Pair:
    """Create a certificate for machines that dial and are dialled.

    Args:
        authority: the CA that signs it.
        hosts: the names and addresses that it is valid for.
        days: the number of days that it is valid.

    Raises:
        InvalidArgumentError: if the authority's key is not one of ours, or not the certificate's.
    """
    ca, ca_key = _opened(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    ca_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    builder = (
        _builder(_name("actorsession cluster"), ca.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(h) for h in hosts]), critical=False)
        .add_extension(ca_id, critical=False)
    )
    return _pair(builder.sign(ca_key, SHA256()), key)


def _opened(authority: Pair) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(authority.certificate)
        key = load_pem_private_key(authority.key, None)
    except (ValueError, TypeError) as exc:  # TypeError: it has a passphrase
        raise InvalidArgumentError(f"the CA cannot be read: {exc}") from exc
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InvalidArgumentError("the CA's key is not one that this command has made")
    if key.public_key() != certificate.public_key():
        raise InvalidArgumentError("the CA's key is not the key of its certificate")
    return certificate, key


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(**granted: bool) -> x509.KeyUsage:
    every = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{use: granted.get(use, False) for use in every})


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM), private)
