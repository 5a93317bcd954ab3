"""``actorsession token``: make a secret that servers and clients can share."""

from __future__ import annotations

import argparse
import os
import secrets
import stat
import sys
from typing import Any

from actorsession.cli.console import SUCCESS, fail, print_line, raw

__all__ = ["add_to"]

_BYTES = 32  # as long as a proof of it, so that guessing either is equally hard
_EPILOG = """\
    export ACTORSESSION_TOKEN=$(actorsession token)
    actorsession token --out FILE; export ACTORSESSION_TOKEN_FILE=FILE

All servers and clients of a cluster use the same token. It is never sent. A file that other users can read
is refused by both; --out makes one that only you can.

exit status: 0 the token was printed or written; 1 the file exists or cannot be written; 2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "token",
        help="make a token for servers and clients",
        description="Print a random token for ACTORSESSION_TOKEN, or write it for ACTORSESSION_TOKEN_FILE.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--out", metavar="FILE", help="write the token to this new file, which only you can read")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    token = secrets.token_hex(_BYTES)
    if options.out is None:
        print_line(token)
        if _others_read_output():
            _ = fail("token", "others can read this file, so no server takes it; use --out FILE, not > FILE")
        return SUCCESS
    from actorsession.checkpoints.atomic import write_whole

    write_whole(options.out, lambda file: file.write(f"{token}\n".encode()), private=True, new=True)
    print_line(f"the token is in {options.out}, which only you can read")
    return SUCCESS


def _others_read_output() -> bool:
    """Return whether standard output is a file that servers and clients refuse."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # no file at all, or none with a descriptor
        return False
    return stat.S_ISREG(mode) and bool(mode & (stat.S_IROTH | stat.S_IWOTH))
