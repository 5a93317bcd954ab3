"""What the tests of commands share: commands that run, and what they say."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import pytest

from actorsession import cli
from tests.cluster.kit import PATIENCE
from tests.cluster.script import command, environment, running


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert readable, "the process prints nothing"
    return process.stdout.readline()


@contextmanager
def serving(*words: str, **more: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A command that serves until it is ended, and the line of JSON that it begins with.

    Args:
        words: the command line without the program, ``--json`` left out.
        more: environment.
    """
    with running(command(*words, "--json"), env=environment(**more)) as process:
        line = line_of(process)
        assert line, process.communicate(timeout=PATIENCE)
        yield process, json.loads(line)


def ran(*words: str, **more: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a command that comes to an end, in a process of its own."""
    done = subprocess.run(
        command(*words),
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def called(*words: str, **more: str) -> tuple[int, str, str]:
    """The same of a command that is called in this process, which starts none for it."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in [name for name in os.environ if name.startswith("ACTORSESSION_")]:
            patch.delenv(name)
        for name, value in more.items():
            patch.setenv(name, value)
        try:
            code: Any = cli.main(list(words))
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


def asked(*words: str, **more: str) -> Any:
    """What a command that must succeed says as JSON, called in this process."""
    code, out, err = called(*words, "--json", **more)
    assert (code, err) == (0, ""), (code, out, err)
    return json.loads(out)


def ends_in_silence(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> None:
    """Ends a process, which must say nothing more and count as a success."""
    process.send_signal(number)
    assert rest(process) == (0, "", "")


def rest(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status of a process that ends by itself, and what it still says."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err
