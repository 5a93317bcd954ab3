"""The command line: servers, clusters and the demo, with one module for each command.

Called as ``actorsession`` or ``python -m actorsession``. What a command needs is imported when that command
runs, so that workers start without the demo. Each command's module has ``add_to``, which adds its sub-parser
and sets the function to run; that function returns the exit status.

A command reports an error in one line on standard error, without a traceback; ``console`` decides what it
says and with which status it ends. Results go to standard output, as JSON with ``--json``. Warnings are
logged to standard error or to a file, see ``logs``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from actorsession.cli import (
    certs,
    check_tf1,
    cluster,
    dashboard,
    doctor,
    explain,
    inspect,
    run_model,
    run_tf1,
    servers,
    status,
    stop,
    task_log,
    token,
    top,
    tour,
    trace,
    variables,
    why,
)
from actorsession.cli.console import USAGE_ERROR, Parser, explain_extra, print_line, run_command
from actorsession.cli.logs import set_up_logging
from actorsession.extras import INCOMPLETE
from actorsession.standard_streams import open_standard_streams

__all__ = ["main"]

_MODULES = (
    servers,
    cluster,
    status,
    top,
    why,
    trace,
    variables,
    task_log,
    dashboard,
    tour,
    stop,
    token,
    certs,
    doctor,
    inspect,
    explain,
    run_model,
    run_tf1,
    check_tf1,
)
_NAMES = (
    "worker",
    "master",
    "cluster",
    "status",
    "top",
    "why",
    "trace",
    "variables",
    "logs",
    "dashboard",
    "tour",
    "stop",
    "token",
    "certs",
    "doctor",
    "inspect",
    "explain",
    "run-model",
    "run-tf1",
    "check-tf1",
)
# Commands that need no other package, so that they run where one is missing.
_ALONE = frozenset({"certs", "doctor", "token"})
_PROGRAM = "actorsession"
_EPILOG = """\
exit status: 0 success, 1 failure, 2 invalid arguments.
environment: warnings go to standard error; ACTORSESSION_LOG=info adds sessions and peers;
ACTORSESSION_TOKEN is the secret that servers and clients share, and ACTORSESSION_TOKEN_FILE a
file with it; ACTORSESSION_TLS_CA,
ACTORSESSION_TLS_CERT and ACTORSESSION_TLS_KEY are the files of TLS; ACTORSESSION_SHARED_MEMORY=0
sends large arrays over the socket on one host too; TF_CONFIG names the cluster and task of a worker.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: arguments without the program's name; those of the process if left out.

    Returns:
        The exit status: 0 success, 1 failure, 2 invalid arguments.

    Raises:
        SystemExit: with 0, after ``--help`` or ``--version``.
    """
    open_standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments[:1] in [[name] for name in (*_NAMES, "demo")] else ""
    program = f"{_PROGRAM} {command}".rstrip()
    with_demo = command not in _NAMES
    return run_command(program, partial(_run, arguments, program, with_demo=with_demo))


def _run(arguments: list[str], program: str, *, with_demo: bool) -> int:
    asks_help = not {"-h", "--help", "--version"}.isdisjoint(arguments)
    if INCOMPLETE and not asks_help and _ALONE.isdisjoint(arguments[:1]):
        raise INCOMPLETE[0]
    parser, commands = _parser(with_demo=with_demo)
    options, extra = parser.parse_known_args(arguments)
    if extra:
        # argparse lists the options of a parser nowhere else.
        known = {name: list(made._option_string_actions) for name, made in commands.items()}
        raise explain_extra(extra, program, known)
    if options.command is None:
        parser.print_help()
        return USAGE_ERROR
    if not getattr(options, "own_logging", False):
        set_up_logging(getattr(options, "log_file", None))
    code: int = options.run(options)
    return code


class _ShowVersion(argparse.Action):
    """The option ``--version``; the version is read only where it is shown."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Write the version, and end."""
        from actorsession.version import installed_version

        print_line(f"actorsession {installed_version()}")
        parser.exit()


def _parser(*, with_demo: bool) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the program, and those of its commands by name."""
    parser = Parser(
        prog=_PROGRAM,
        description="A runtime for stateful dataflow graphs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_ShowVersion, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in _MODULES:
        module.add_to(commands)
    if with_demo:
        from actorsession.cli import demo

        demo.add_to(commands)
    return parser, commands.choices
