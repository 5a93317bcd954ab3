"""``actorsession token``: make a secret that servers and clients can share."""

from __future__ import annotations

import argparse
import secrets
from typing import Any

from actorsession.cli.console import SUCCESS, print_line, raw

__all__ = ["add_to"]

_BYTES = 32  # as long as a proof of it, so that guessing either is equally hard
_EPILOG = """\
    export ACTORSESSION_TOKEN=$(actorsession token)

All servers and clients of a cluster use the same token. It is never sent, and the command stores nothing.

exit status: 0 the token was printed; 2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "token",
        help="make a token for servers and clients",
        description="Print a random token for ACTORSESSION_TOKEN.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    print_line(secrets.token_hex(_BYTES))
    return SUCCESS
