"""A notebook with a real kernel, whose cells are run one after the other.

Starting a kernel takes seconds, so one serves all tests of a module.
``python -m tests.session.notebook_kit`` is the process that holds it, as Jupyter's server does: it reads
cells as lines of JSON, and answers each with the traceback of its error, or ``null``, and with its outputs. It
is a process of its own, because what the clients of kernels leave behind and warn of is nothing that these
tests judge.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Notebook", "open_notebook"]

ROOT = Path(__file__).resolve().parents[2]

# Seconds for a cell, and for the end of a kernel; none comes near.
LIMIT = 50


class Notebook:
    """A notebook whose cells share names, as a user's do.

    Args:
        process: the process, which runs this module.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *cells: str) -> None:
        """Runs cells, each of which must end without an error."""
        for cell in cells:
            self.outputs(cell)

    def outputs(self, cell: str) -> list[dict[str, Any]]:
        """Runs a cell, which must end without an error; what it shows, in the order and form of the file format."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(textwrap.dedent(cell)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that holds the kernel has ended"
        error, outputs = json.loads(answer)
        assert error is None, error
        shown: list[dict[str, Any]] = outputs
        return shown


@contextmanager
def open_notebook() -> Iterator[Notebook]:
    """A notebook, whose kernel ends with the block."""
    # The sockets of the kernel lie in a folder with a short name, because theirs are limited.
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        names = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
        own = dict.fromkeys(names, folder)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.session.notebook_kit"],
            cwd=ROOT,
            env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            try:
                yield Notebook(process)
                assert process.stdin is not None
                process.stdin.close()
                assert process.wait(LIMIT) == 0
            finally:
                process.kill()


def _main() -> None:
    import nbformat.v4
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    nodes: Any = nbformat.v4  # its functions have no annotations
    notebook = nodes.new_notebook()
    # The kernel inherits standard output and must not write between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # Not TCP: its ports are picked, let go and used again.
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc")
    client = NotebookClient(notebook, km=kernel, timeout=LIMIT)
    with client.setup_kernel(cleanup_kc=True):
        for line in sys.stdin:
            cell = nodes.new_code_cell(json.loads(line))
            notebook.cells.append(cell)
            error = None
            try:
                client.execute_cell(cell, len(notebook.cells) - 1)
            except CellExecutionError as found:
                error = str(found)
            answers.write(json.dumps([error, cell.get("outputs", [])]) + "\n")
            answers.flush()


if __name__ == "__main__":
    _main()
