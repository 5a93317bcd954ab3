"""``actorsession token``: make a secret that servers and clients can share."""

from __future__ import annotations

import argparse
import secrets
from typing import Any

from actorsession.cli.words import DONE, raw, say

__all__ = ["add_to"]

_BYTES = 32  # as long as a proof of it, so that guessing either is equally hard
_EPILOG = """\
    export ACTORSESSION_TOKEN=$(actorsession token)

All servers and clients of a cluster take the same. It is never sent, and nothing is stored.

exit status: 0 made; 2 called wrongly.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "token", help="make a token for servers and clients",
        description="Prints a random token, for ACTORSESSION_TOKEN.",
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    say(secrets.token_hex(_BYTES))
    return DONE
