"""The output, exit statuses and argument parsers that all commands share.

Called by the modules of the commands; imports only the standard library.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

__all__ = [
    "FAILURE",
    "SUCCESS",
    "USAGE_ERROR",
    "add_file_roots",
    "fail",
    "positive",
    "print_json",
    "print_line",
    "raw",
    "seconds",
]  # fmt: skip

SUCCESS, FAILURE, USAGE_ERROR = 0, 1, 2
"""Exit statuses."""

raw = argparse.RawDescriptionHelpFormatter


def print_line(line: str) -> None:
    """Write a line to standard output and flush it, because a reader may wait at a pipe."""
    print(line, flush=True)


def print_json(value: Any) -> None:
    """Write a value as one line of JSON."""
    print_line(json.dumps(value))


def fail(command: str, error: object) -> int:
    """Write an error to standard error, in one line.

    Returns:
        The exit status of failure.
    """
    text = " | ".join(str(error).splitlines())
    print(f"actorsession {command}: {text}", file=sys.stderr, flush=True)
    return FAILURE


def add_file_roots(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folders in which operations may open files."""
    parser.add_argument(
        "--file-root", action="append", dest="file_roots", metavar="DIR",
        help="a folder in which operations may open files; may be given several times (default: all files if "
        "only this machine can reach the server, else none)",
    )  # fmt: skip


def positive(text: str) -> int:
    """Parse a positive integer, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return value


def seconds(text: str) -> float:
    """Parse a positive number of seconds, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return value
