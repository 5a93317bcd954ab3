"""The command line: servers, clusters and the demo, with one module for each command.

Called as ``actorsession`` or ``python -m actorsession``. What a command needs is imported when that command
runs, so that workers start without the demo. Each command's module has ``add_to``, which adds its sub-parser
and sets the function to run; that function returns the exit status.

A command reports a mistake of the user in one line on standard error, without a traceback. Results go to
standard output, as JSON with ``--json``. Warnings are logged to standard error, see ``logs``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from actorsession import __version__
from actorsession.cli import certs, cluster, doctor, servers, status, stop, token, why
from actorsession.cli.console import USAGE_ERROR, fail
from actorsession.cli.logs import log_to_stderr

__all__ = ["main"]

_MODULES = (servers, cluster, status, why, stop, token, certs, doctor)
_NAMES = ("worker", "master", "cluster", "status", "why", "stop", "token", "certs", "doctor")
_EPILOG = """\
exit status: 0 success, 1 failure, 2 invalid arguments.
environment: warnings go to standard error; ACTORSESSION_LOG=info adds sessions and peers;
ACTORSESSION_TOKEN is the secret that servers and clients share; ACTORSESSION_TLS_CA,
ACTORSESSION_TLS_CERT and ACTORSESSION_TLS_KEY are the files of TLS; ACTORSESSION_SHARED_MEMORY=0
sends large arrays over the socket on one host too; TF_CONFIG names the cluster and task of a worker.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: arguments without the program's name; those of the process if left out.

    Returns:
        The exit status: 0 success, 1 failure, 2 invalid arguments.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(with_demo=arguments[:1] not in [[name] for name in _NAMES])
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return USAGE_ERROR
    try:
        log_to_stderr()
    except ValueError as exc:
        fail(options.command, exc)
        return USAGE_ERROR
    code: int = options.run(options)
    return code


def _parser(*, with_demo: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actorsession", description="A runtime for stateful dataflow graphs.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"actorsession {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in _MODULES:
        module.add_to(commands)
    if with_demo:
        from actorsession.cli import demo

        demo.add_to(commands)
    return parser
