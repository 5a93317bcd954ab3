"""``actorsession certs``: make the certificates of a private cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, given, positive, print_json, print_line, raw

if TYPE_CHECKING:
    from actorsession.cluster.admin.certs import Certificates

__all__ = ["add_to"]

_EPILOG = """\
The command writes four files into DIR and overwrites none: ca.pem, ca-key.pem, cert.pem and key.pem.
Every server and client needs ca.pem, cert.pem and key.pem; ca-key.pem signs further certificates, and
should be kept where no server runs. The certificate names HOST,... and the loopback names, because a
client checks that the certificate names the host to which it connects.

exit status: 0 the files were written; 1 an error, and no file is left; 2 invalid arguments.
requirement: the package cryptography, pip install 'actorsession[tls]'.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "certs",
        help="make certificates for servers and clients",
        description="Make a CA and a certificate for the machines of a cluster.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the files")
    parser.add_argument(
        "--hosts",
        default="",
        metavar="HOST,...",
        help="host names and addresses of the machines, as clients will use them",
    )
    parser.add_argument(
        "--days", type=positive, default=365, help="how many days the certificate is valid (default %(default)s)"
    )
    parser.add_argument(
        "--ca",
        metavar="DIR",
        dest="ca_folder",
        help="the folder of a CA that this command made earlier, for machines that join later",
    )
    parser.add_argument("--json", action="store_true", help="print the paths as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from actorsession.cluster.admin.certs import checked_host

    with given("--hosts"):
        hosts = [checked_host(host) for host in options.hosts.split(",") if host.strip()]
    paths = _made(options, hosts)
    if options.json:
        print_json(asdict(paths))
        return SUCCESS
    print_line(f"a certificate for {', '.join(paths.hosts)}, valid for {options.days} days:")
    print_line(f"  --tls-ca {paths.ca_file} --tls-cert {paths.certificate_file} --tls-key {paths.key_file}")
    print_line(f"keep {paths.ca_key_file} in a separate place: its owner can sign certificates for the cluster")
    return SUCCESS


def _made(options: argparse.Namespace, hosts: list[str]) -> Certificates:
    """Make the files.

    Raises:
        UsageError: for a folder that cannot be used.
        AlreadyExistsError: if a file would be overwritten.
    """
    from actorsession.cluster.admin.certs import make_certificates
    from actorsession.errors import (
        AlreadyExistsError,
        FailedPreconditionError,
        InvalidArgumentError,
        NotFoundError,
        OpError,
    )

    try:
        return make_certificates(options.out, hosts, days=options.days, ca_folder=options.ca_folder)
    except (NotFoundError, InvalidArgumentError) as exc:  # a file of the CA, or the folder to make
        made = f"cannot make the folder {options.out!r}"
        with given("--out" if exc.message.startswith(made) else "--ca"):
            raise
    except (AlreadyExistsError, FailedPreconditionError):
        raise
    except (OSError, OpError, ValueError):
        with given("--out"):
            raise
