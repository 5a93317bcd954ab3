"""``actorsession certs``: make the certificates of a private cluster."""

from __future__ import annotations

import argparse
from typing import Any

from actorsession.cli.words import DONE, fail, positive, raw, say, say_json

__all__ = ["add_to"]

_EPILOG = """\
Makes four files in DIR and overwrites none: ca.pem, ca-key.pem, cert.pem and key.pem. Every server
and client gets ca.pem, cert.pem and key.pem; ca-key.pem makes more certificates, and is best kept
where no server runs. The certificate names HOST,... and this machine's own names for itself, since
who dials checks that the certificate is for the host that it dials.

exit status: 0 made; 1 not made, and nothing is left; 2 called wrongly.
needs the package cryptography: pip install 'actorsession[tls]'.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "certs", help="make certificates for servers and clients",
        description="Makes a CA and a certificate for the machines of a cluster.",
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    parser.add_argument("--out", required=True, metavar="DIR", help="where the files are put")
    parser.add_argument(
        "--hosts", default="", metavar="HOST,...",
        help="names and addresses of the machines, as they will be dialled",
    )  # fmt: skip
    parser.add_argument(
        "--days", type=positive, default=365,
        help="for how long the certificate is good (default %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--ca", metavar="DIR", dest="ca_folder",
        help="sign with the CA that this command has made there, for machines that join later",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="say where the files are as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from actorsession.cluster.admin.certs import make_certificates
    from actorsession.errors import OpError

    hosts = [host for host in options.hosts.split(",") if host.strip()]
    try:
        made = make_certificates(options.out, hosts, days=options.days, ca_folder=options.ca_folder)
    except (OSError, OpError) as exc:
        return fail("certs", exc)
    if options.json:
        say_json(asdict(made))
        return DONE
    say(f"a certificate for {', '.join(made.hosts)}, good for {options.days} days:")
    say(f"  --tls-ca {made.ca_file} --tls-cert {made.certificate_file} --tls-key {made.key_file}")
    say(f"keep {made.ca_key_file} apart: who has it can join the cluster")
    return DONE
