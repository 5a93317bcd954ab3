"""The output, exit statuses and argument parsers that all commands share.

Here alone is decided how a command ends. ``UsageError`` says that it was called wrongly: by its words, by the
environment, or by a file that one of these names; no second attempt can succeed. It ends with
``USAGE_ERROR``. All other errors that the runtime or the system may report mean that an attempt failed, and
end with ``FAILURE``. Either is one line on standard error.

Called by ``main`` and by the modules of the commands. Addresses are checked by ``cluster``, which is imported
when there is one.
"""

from __future__ import annotations

import argparse
import importlib
import ipaddress
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from actorsession.durations import MOST_SECONDS, is_seconds
from actorsession.errors import OpError
from actorsession.terminal_text import lead_nowhere, write_lines
from actorsession.whole_numbers import is_index

__all__ = [
    "FAILURE",
    "SUCCESS",
    "USAGE_ERROR",
    "Parser",
    "UsageError",
    "add_address",
    "add_devices",
    "add_file_roots",
    "add_imports",
    "add_log_file",
    "add_metrics_port",
    "as_json",
    "check_environment",
    "clear_screen",
    "explain_extra",
    "fail",
    "given",
    "import_modules",
    "job_counts",
    "listed",
    "port",
    "positive",
    "print_json",
    "print_line",
    "raw",
    "run_command",
    "seconds",
    "whole_number",
]

SUCCESS, FAILURE, USAGE_ERROR = 0, 1, 2
"""Exit statuses."""

raw = argparse.RawDescriptionHelpFormatter

_CLEAR = "\x1b[H\x1b[2J"

# What a command may meet without a mistake of this program.
_EXPECTED = (OSError, OpError, TypeError, ValueError)


class UsageError(Exception):
    """A command was called wrongly.

    Args:
        message: what was asked, what was found and what would be valid, in the words of the options.
        program: the program and the command, if the caller of the command does not know them.
    """

    def __init__(self, message: str, program: str = "") -> None:
        super().__init__(message)
        self.program = program


class Parser(argparse.ArgumentParser):
    """A parser that raises in place of printing its usage and ending the process."""

    def _print_message(self, message: str, file: Any = None) -> None:
        write_lines(file or sys.stderr, message.removesuffix("\n").split("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise an error that begins with the option, as all others do.

        Raises:
            UsageError: always.
        """
        message = message.removeprefix("argument ")
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            message = f"{missing} must be given; see {self.prog} --help"
        raise UsageError(message, self.prog)


def run_command(program: str, action: Callable[[], int]) -> int:
    """Run a command and report how it ends, if that is an error.

    Args:
        program: the program and the command, such as ``actorsession worker``.
        action: runs the command and returns its exit status.

    Returns:
        The exit status.
    """
    try:
        return action()
    except UsageError as error:
        _report(error.program or program, error)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return FAILURE
    except BrokenPipeError:  # who reads its output has seen enough
        lead_nowhere(sys.stdout)
        return SUCCESS
    except ImportError as error:
        _report(program, f"{error}; actorsession doctor shows what is missing")
        return FAILURE
    except _EXPECTED as error:
        _report(program, error)
        return FAILURE


@contextmanager
def given(what: str) -> Iterator[None]:
    """Turn errors of a block about a value from the user into errors that name the option or file.

    Args:
        what: the option or variable, which errors that begin with it do not repeat; "" if all do.

    Raises:
        UsageError: for every error that a wrong value may cause.
    """
    try:
        yield
    except _EXPECTED as error:
        reason = _reason(error)
        raise UsageError(reason if reason.startswith(what) else f"{what}: {reason}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OpError):
        return error.message
    if isinstance(error, OSError) and error.strerror is not None and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def explain_extra(extra: Sequence[str], program: str, options: Mapping[str, Sequence[str]]) -> UsageError:
    """Return the error for words that a command does not take.

    Args:
        extra: the words, in the order in which they were given.
        program: the program and the command.
        options: the options of each command.
    """
    word = next((word for word in extra if word.startswith("-")), extra[0])
    option = word.partition("=")[0]
    others = [name for name, known in options.items() if option in known]
    if others:
        said = f"{option} is an option of {listed(others)}, and not of this command"
    elif option.startswith("-"):
        said = f"there is no option {option}"
    else:
        said = f"unexpected argument {word!r}"
    return UsageError(f"{said}; see {program} --help", program)


def listed(items: Sequence[object]) -> str:
    """Return items as text: ``a``, ``a and b``, ``a, b and c``; "nothing" for none."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words) or "nothing"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def print_line(*lines: str) -> bool:
    """Write lines to standard output, with what cannot be seen in them made visible; see ``terminal_text``.

    Returns:
        Whether somebody reads them.
    """
    return write_lines(sys.stdout, lines)


def print_json(value: Any) -> bool:
    """Write a value as one line of JSON; return whether somebody reads it."""
    return print_line(as_json(value))


def as_json(value: Any) -> str:
    """Return a value as one line of JSON, which has nothing in it that ``print_line`` would change."""
    return json.dumps(value).replace("\x7f", r"\u007f")


def clear_screen() -> None:
    """Clear the terminal, if standard output is one."""
    if sys.stdout.isatty():
        print(_CLEAR, end="")


def fail(command: str, error: object) -> int:
    """Write an error to standard error, in one line.

    Returns:
        The exit status of failure.
    """
    _report(f"actorsession {command}", error)
    return FAILURE


def _report(program: str, error: object) -> None:
    text = " | ".join(str(error).splitlines())
    write_lines(sys.stderr, [f"{program}: {text}"])


def check_environment() -> None:
    """Check the files of the token and of TLS that the environment names, if it names any.

    Raises:
        UsageError: if some of the three variables of TLS are set and some are not, or a file is unusable.
    """
    from actorsession.rpc.security import check_files, shared_security, shared_token

    with given(""):
        _ = shared_token()
        security = shared_security()
        if security is not None:
            check_files(security)


def add_address(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the address of a server to which the command connects."""
    parser.add_argument("address", metavar="ADDRESS", type=_address, help=f"address of {what}, such as 127.0.0.1:7000")


def _address(text: str) -> str:
    """Return an address as it was given, if a server can be there, for argparse."""
    from actorsession.cluster.server.address_checks import check_target
    from actorsession.rpc.security import shared_security

    check_environment()
    try:
        check_target(text, tls=shared_security() is not None)
    except (OpError, ValueError) as exc:
        raise argparse.ArgumentTypeError(_reason(exc)) from None
    return text


def add_log_file(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file of the log."""
    parser.add_argument(
        "--log-file",
        metavar="FILE",
        help="append the log to this file in place of standard error; after a renaming it is made anew",
    )


def add_metrics_port(parser: argparse.ArgumentParser, whose: str) -> None:
    """Add the options for the port at which Prometheus reads counters."""
    parser.add_argument(
        "--metrics-port",
        type=port,
        metavar="PORT",
        help=f"answer GET /metrics at this port with the counters of {whose} for Prometheus, without a token; 0 for "
        "any that is free",
    )
    parser.add_argument(
        "--metrics-host",
        type=_host,
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address of that port, such as 0.0.0.0 for all of this machine (default %(default)s)",
    )


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an IP address, got {text!r:.100}") from None


def add_file_roots(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folders in which operations may open files."""
    parser.add_argument(
        "--file-root",
        action="append",
        dest="file_roots",
        metavar="DIR",
        help="a folder in which operations may open files; may be given several times (default: all files if "
        "only this machine can reach the server, else none)",
    )


def add_devices(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the option for the devices ``of`` a task."""
    parser.add_argument(
        "--devices",
        type=_device_counts,
        default={},
        metavar="N|TYPE=N,...",
        help=f"the number of CPU devices of {of}, or of its devices by type, such as TORCH_CPU=1 (default: one CPU)",
    )


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Add the option for modules to import; see ``import_modules``."""
    parser.add_argument(
        "--import",
        action="append",
        dest="imports",
        default=[],
        metavar="MODULE",
        help="a module to import first, such as one that registers operation types; may be given several times",
    )


def import_modules(names: Sequence[str]) -> None:
    """Import modules of the user, in order.

    Raises:
        UsageError: if one cannot be imported.
    """
    for name in names:
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:  # the module may raise anything
            kind = type(error).__name__
            raise UsageError(f"--import: cannot import {name!r}: {kind}: {error}") from error


def job_counts(text: str) -> dict[str, int]:
    """Parse the number of tasks of each job, for argparse."""
    out = _counts(text, "jobs", "ps=1,worker=2")
    from actorsession.cluster.spec import ClusterSpec

    try:
        ClusterSpec(dict.fromkeys(out, ()))
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from None
    if not any(out.values()):
        raise argparse.ArgumentTypeError(f"a cluster has at least one task, got {text!r}")
    return out


def _device_counts(text: str) -> dict[str, int]:
    """Parse the number of devices of each type, or that of the CPUs alone, for argparse."""
    return _counts(text, "devices", "CPU=1,TORCH_CPU=1") if "=" in text else {"CPU": positive(text)}


def _counts(text: str, what: str, example: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in text.split(","):
        name, equals, count = part.strip().partition("=")
        if not (name and equals and is_index(count)) or name in counts:
            raise argparse.ArgumentTypeError(
                f"{what} are written as NAME=COUNT, each name once, such as {example}; "
                f"cannot parse {part!r} of {text!r}"
            )
        counts[name] = int(count)
    return counts


def positive(text: str) -> int:
    """Parse a positive integer, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """Parse an integer from 0, for argparse."""
    if not is_index(text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


def port(text: str) -> int:
    """Parse a port, for argparse."""
    value = whole_number(text)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return value


def seconds(text: str) -> float:
    """Parse a positive number of seconds, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value and is_seconds(value):
        return value
    raise argparse.ArgumentTypeError(
        f"expected a positive number of seconds, got {text!r:.100}; the most is {MOST_SECONDS:g}"
    )
