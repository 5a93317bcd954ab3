"""The process of the page of a cluster: ``actorsession dashboard``, started and ended by a program.

Clusters and ``fit`` start it when they are asked to; it is a process of its own, so that the page costs their
event loops nothing, and needs no import of the packages above. Plain blocking calls, which a coroutine makes
in a thread. The process ends with its owner, because its standard input ends.

Invariant: a forked child of the owner neither writes to the process nor signals it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from typing import IO

from actorsession.actors.ownership import Owner
from actorsession.cluster.launch.interpreter import command
from actorsession.errors import DeadlineExceededError, UnavailableError
from actorsession.extras import require
from actorsession.rpc.security import TOKEN_VARIABLE
from actorsession.terminal_text import write_lines
from transports import SecurityConfig
from transports.host import current_host

__all__ = ["DashboardProcess"]

# Seconds for the process to come up, and to end by itself.
_START, _GRACE = 30.0, 3.0
# Bytes of what it has written to standard error that an error shows.
_LAST_LINES = 2000


class DashboardProcess:
    """A process that serves the page of a cluster.

    Args:
        token: the secret of the cluster; by default that of the environment.
        security: TLS files of the cluster; by default those of the environment.

    Attributes:
        link: the address of the page; "" before the start.

    Raises:
        ImportError: without the extra ``dashboard``.
    """

    def __init__(self, *, token: str | None = None, security: SecurityConfig | None = None) -> None:
        require("aiohttp", "dashboard", "dashboard=True: the page is served by aiohttp, which is not installed")
        self.link = ""
        self._token, self._security = token, security
        self._owner = Owner("page")
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # a start that nobody waits for any more goes on in its thread
        self._closed = False

    def start(self, address: str, seconds: float = _START) -> None:
        """Start the process, and wait until it serves.

        Args:
            address: where a task of the cluster listens.
            seconds: how long that may take.

        Raises:
            UnavailableError: if it does not come up; says why.
            DeadlineExceededError: if that takes too long.
        """
        environment = dict(os.environ)
        if self._security is not None:
            environment |= self._security.to_environment()
        if self._token is not None:
            environment[TOKEN_VARIABLE] = self._token
        with tempfile.TemporaryFile() as errors:
            process = self._spawn(address, environment, errors)
            try:
                line = self._first_line(process, seconds)
                if not line:
                    process.wait(seconds)
                    raise UnavailableError(f"the page did not come up: {_last_words(errors)}")
                self.link = json.loads(line)["link"]
            except BaseException:
                self.close(0.0)
                raise

    def _spawn(self, address: str, environment: dict[str, str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise UnavailableError("the page was closed while it was started")
            # In a session of its own: Ctrl-C at the terminal is for the owner, which ends it.
            self._process = subprocess.Popen(
                command("actorsession", "dashboard", address, "--json", "--with-parent"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
            return self._process

    def _first_line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """Return the line that the process writes once it serves; nothing if it ends before."""
        assert process.stdout is not None
        now, line = current_host().clock.monotonic, b""
        deadline = now() + seconds
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - now()))
            if not ready:
                raise DeadlineExceededError(f"the page did not come up within {seconds:g} s")
            more = os.read(process.stdout.fileno(), 4096)
            if not more:
                return b""
            line += more
        return line

    def announce(self, what: str) -> None:
        """Write the link to standard output, if there is one.

        Args:
            what: what the page shows.
        """
        if sys.stdout is not None:
            write_lines(sys.stdout, [f"the page of the {what}: {self.link}"])

    def close(self, grace: float = _GRACE) -> None:
        """End the process, and wait for that; may be called again. In a forked child it does nothing.

        Args:
            grace: seconds that it has to end by itself.
        """
        if self._owner.is_forked:
            return
        with self._lock:
            self._closed, process = True, self._process
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill_now()
            process.wait()
        process.stdout.close()

    def kill_now(self) -> None:
        """Kill the process without waiting; in a forked child do nothing."""
        if self._process is not None and not self._owner.is_forked:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_LINES))
    return errors.read().decode("utf-8", "replace").strip() or "it has ended without a word"
