"""Certificates for a private cluster: a CA, and a certificate that it signs for the cluster's machines.

Called by the command line. Owns the four files; ``signing`` creates their content with the package
``cryptography``, which no other module needs. Users who have certificates already, or make them with openssl,
do not need that package, so ``signing`` is imported on use.

Invariants: No file that exists is overwritten. Private keys are never readable by other users, not even for a
moment.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from actorsession.checkpoints.atomic import file_errors, read_regular, write_whole
from actorsession.config.file_roots import path_text
from actorsession.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorsession.records import dataclass

__all__ = ["LOOPBACK_HOSTS", "Certificates", "checked_host", "make_certificates"]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Hosts that every certificate is valid for, so that the same files work for processes of one machine."""

_MISSING = (
    "certificates are made with the package cryptography, which is not installed: pip install "
    "'actorsession[tls]', or make them with openssl as docs/distributed.md shows"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """The paths of the four files.

    Attributes:
        ca_file: the CA's certificate, which is public.
        ca_key_file: the CA's key; only for the creation of more certificates.
        certificate_file: the certificate of the cluster's machines.
        key_file: the key of that certificate; for those machines.
        hosts: the names and addresses that the certificate is valid for.
    """

    ca_file: str
    ca_key_file: str
    certificate_file: str
    key_file: str
    hosts: tuple[str, ...]


def make_certificates(
    folder: str | os.PathLike[str],
    hosts: Sequence[str],
    *,
    days: int = 365,
    ca_folder: str | os.PathLike[str] | None = None,
) -> Certificates:
    """Make ``ca.pem``, ``ca-key.pem``, ``cert.pem`` and ``key.pem``.

    Args:
        folder: the folder for the files; created if it does not exist.
        hosts: names and addresses of the cluster's machines, as they will be dialled.
        days: the number of days that the certificate is valid; the CA is valid for ten years.
        ca_folder: has the ``ca.pem`` and ``ca-key.pem`` of an earlier call, which then sign, and no new CA is
            made: for machines that join later.

    Raises:
        AlreadyExistsError: if one of the files exists; then none is touched.
        NotFoundError: if ``ca_folder`` lacks one of its files.
        InvalidArgumentError: for an invalid host, a number of days below 1, or a CA whose key is not one that
            this function made.
        FailedPreconditionError: without the package ``cryptography``.
        OpError: if the folder cannot be written to.
    """
    try:
        from actorsession.cluster.admin import signing
    except ImportError:
        raise FailedPreconditionError(_MISSING) from None
    if days < 1:
        raise InvalidArgumentError(f"a certificate is good for at least 1 day, got {days}")
    names = tuple(dict.fromkeys([*map(checked_host, hosts), *LOOPBACK_HOSTS]))
    at = Path(path_text(folder))
    source = at if ca_folder is None else Path(path_text(ca_folder))
    certificates = Certificates(
        ca_file=str(source / "ca.pem"),
        ca_key_file=str(source / "ca-key.pem"),
        certificate_file=str(at / "cert.pem"),
        key_file=str(at / "key.pem"),
        hosts=names,
    )
    files: dict[str, tuple[bytes, bool]] = {}
    if ca_folder is None:
        ca = signing.new_authority()
        files[certificates.ca_file] = (ca.certificate, False)
        files[certificates.ca_key_file] = (ca.key, True)
    else:
        ca = signing.Pair(_content(certificates.ca_file), _content(certificates.ca_key_file))
    leaf = signing.signed_by(ca, names, days)
    files[certificates.certificate_file] = (leaf.certificate, False)
    files[certificates.key_file] = (leaf.key, True)
    with file_errors(f"cannot make the folder {str(at)!r}"):
        at.mkdir(parents=True, exist_ok=True)
    _write_all(files)
    return certificates


def checked_host(host: str) -> str:
    """Return a host as a certificate names it.

    Raises:
        InvalidArgumentError: if it is neither a host name nor an address.
    """
    host = host.strip()
    labels = host.split(".")
    fine = all(part and len(part) < 64 and part.isascii() and part.replace("-", "").isalnum() for part in labels)
    if not fine:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise InvalidArgumentError(
                f"{host!r:.100} is neither a host name nor an address; no port or scheme belongs to it"
            ) from None
    return host


def _content(path: str) -> bytes:
    try:
        with file_errors(f"cannot read {path!r}"):
            return read_regular(path)
    except NotFoundError:
        raise NotFoundError(f"{path} is not there; a CA's folder has ca.pem and ca-key.pem") from None


def _fill(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _write_all(files: dict[str, tuple[bytes, bool]]) -> None:
    """Write all of the files, or leave none."""
    if existing := [path for path in files if os.path.lexists(path)]:
        raise AlreadyExistsError(
            f"{', '.join(existing)} exist{'s' * (len(existing) == 1)} and would be overwritten; give "
            "another folder, or remove what is there"
        )
    written: list[str] = []
    try:
        for path, (content, private) in files.items():
            write_whole(path, partial(_fill, content), private=private, new=True)
            written.append(path)
    except BaseException:
        for path in written:
            os.unlink(path)
        raise
