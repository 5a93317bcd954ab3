"""A service of examples/serve in a process of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.kit import PATIENCE


class Serving:
    """A process that serves, and the folder of its checkpoints."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        assert process.stdout is not None
        self.process = process
        self.folder = folder
        line = process.stdout.readline()
        found = re.fullmatch(r"serving at (http://127\.0\.0\.1:(\d+))\n", line)
        assert found is not None, line or process.communicate()[1]
        self.url, self.port = found[1], int(found[2])

    def end(self, number: int) -> int:
        """Sends a signal, and returns the exit status once the process has ended without a complaint."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        assert (out, err) == ("", "")
        return self.process.returncode


@contextmanager
def served(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[Serving]:
    """A service that has printed its address, and that is killed at the end if it has not ended by then."""
    process = subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        try:
            yield Serving(process, folder)
        finally:
            process.kill()
