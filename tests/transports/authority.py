"""Certificates for tests: authorities, and the files of peers that they have signed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import trustme

from transports import SecurityConfig

HOSTS = ("localhost", "127.0.0.1", "::1")


class Authority:
    """A CA whose files lie in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._ca = trustme.CA()
        self._folder = folder
        self.ca_file = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(self.ca_file)

    def files(self, name: str = "peer", *, hosts: tuple[str, ...] = HOSTS, ended: bool = False) -> SecurityConfig:
        """Issue a certificate for some hosts, of the past if it has ended, and write its files."""
        leaf = self._ca.issue_cert(
            *hosts,
            not_before=datetime(2001, 1, 1, tzinfo=UTC) if ended else None,
            not_after=datetime(2002, 1, 1, tzinfo=UTC) if ended else None,
        )
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        leaf.cert_chain_pems[0].write_to_path(certificate)
        leaf.private_key_pem.write_to_path(key)
        return SecurityConfig(ca_file=str(self.ca_file), certificate_file=str(certificate), key_file=str(key))


def trusting(files: SecurityConfig, other: Authority) -> SecurityConfig:
    """The certificate of one authority, with the trust in another."""
    return replace(files, ca_file=str(other.ca_file))
