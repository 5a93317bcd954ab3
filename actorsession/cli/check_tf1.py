"""``actorsession check-tf1``: which names of TensorFlow 1 programs use, and which of them are missing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from actorsession.cli.console import FAILURE, SUCCESS, print_json, print_line, raw

__all__ = ["add_to"]

_EPILOG = """\
Nothing is run: the names are those in the text of the programs. A missing name need not stop a program that
asks for it first. A line is the name, how often it is used and, if it is missing, what may have been meant or
why it is not here, with the places.

exit status: 0 all names are here; 1 some are missing, or a file is no program of Python 3;
2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "check-tf1",
        help="list the names of TensorFlow 1 that programs use",
        description="List the names of TensorFlow 1 that programs use, and which of them are missing here.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file, or a folder of them")
    parser.add_argument("--missing", action="store_true", help="list only names that are missing")
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.compat.used_names import find_names, program_files

    files = [file for path in options.paths for file in program_files(path)]
    found = find_names(files)
    if options.json:
        names = {
            name: {"uses": [list(use) for use in uses], "missing": found.missing.get(name)}
            for name, uses in sorted(found.uses.items())
        }
        print_json({"files": len(files), "names": names, "unreadable": found.unreadable})
    else:
        for name, uses in sorted(found.uses.items()):
            problem = found.missing.get(name)
            if problem:
                print_line(f"tf.{name} {len(uses)} missing: {problem}")
                for use in uses:
                    print_line(f"    {use.file}:{use.line}")
            elif not options.missing:
                print_line(f"tf.{name} {len(uses)}")
        for problem in found.unreadable.values():
            print_line(problem)
        print_line(f"{len(files)} files use {len(found.uses)} names of TensorFlow; {len(found.missing)} are missing")
    return FAILURE if found.missing or found.unreadable else SUCCESS
