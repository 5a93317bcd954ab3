"""The driver's half of the protocol with a side."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["SideError", "SideProcess"]

# Seconds for a side to end after it was requested to; it may have to stop a cluster.
_GRACE = 15.0
_KEPT_BYTES = 2000


class SideError(Exception):
    """Error for a request that a side could not carry out."""


class SideProcess:
    """One side in a process of its own, which is restarted after it has died.

    Args:
        name: ``actorsession`` or that of a peer.
        python: the interpreter.
        environment: the environment of the process.
        core: the core to which the process and all that it starts are bound; ``None`` for all cores.
    """

    def __init__(self, name: str, python: str, environment: Mapping[str, str], core: int | None = None) -> None:
        self.name = name
        self._command = [python, str(Path(__file__).resolve().parent), "side", name]
        if core is not None:
            self._command.append(str(core))
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._read = b""

    def ask(self, what: str, timeout: float, **more: Any) -> dict[str, Any]:
        """Send a request and wait for the reply.

        Args:
            what: the request.
            timeout: seconds to wait.
            more: the fields of the request.

        Raises:
            SideError: if the side reports an error, dies, or takes too long; in the last two cases the next
                request restarts it.
        """
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"do": what, **more}).encode() + b"\n")
            process.stdin.flush()
            reply: dict[str, Any] = json.loads(self._line(process, timeout))
        except (BrokenPipeError, EOFError):
            raise self._died(f"ended while it was asked to {what}") from None
        except ValueError:
            raise self._died(f"did not answer in JSON when it was asked to {what}") from None
        except TimeoutError:
            raise self._died(f"took more than {timeout:.0f} s to {what}") from None
        if "error" in reply:
            raise SideError(reply["error"])
        return reply

    def stop(self) -> None:
        """End the process and everything that it started."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            # Unwritten data is no longer needed.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

    def kill(self) -> None:
        """Kill the process, which also ends everything that it started."""
        if self._process is not None:
            self._process.kill()
        self.stop()

    def close(self) -> None:
        """End the process permanently."""
        self.stop()
        self._stderr.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._read = b""
            try:
                self._process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    # Ctrl-C at the terminal is handled by the driver, which ends its children.
                    start_new_session=True,
                )
            except OSError as error:
                raise SideError(f"cannot run {self._command[0]}: {error}") from None
        return self._process

    def _line(self, process: subprocess.Popen[bytes], timeout: float) -> bytes:
        assert process.stdout is not None
        ends = time.monotonic() + timeout
        while b"\n" not in self._read:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise TimeoutError
            some = os.read(process.stdout.fileno(), 1 << 16)
            if not some:
                raise EOFError
            self._read += some
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _died(self, how: str) -> SideError:
        self.kill()
        said = self._last_words()
        return SideError(f"the process of {self.name} {how}" + (f"; it said:\n{said}" if said else ""))

    def _last_words(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _KEPT_BYTES))
        return self._stderr.read().decode(errors="replace").strip()


assert sys.platform != "win32"  # select does not take pipes there
