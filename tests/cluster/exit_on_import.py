"""A module that processes import, and in which they end for as long as a test wants that."""

from __future__ import annotations

from pathlib import Path

MODULE = """
import os
from pathlib import Path

if Path(__file__).with_suffix(".dies").exists():
    os._exit(3)
"""


class ExitOnImport:
    """The module, in a folder that the processes search.

    Attributes:
        name: of the module.
    """

    name = "mortality_of_tasks"

    def __init__(self, folder: Path) -> None:
        (folder / f"{self.name}.py").write_text(MODULE)
        self._file = folder / f"{self.name}.dies"

    def begin(self) -> None:
        """Let each process that is started end with exit code 3."""
        self._file.touch()

    def end(self) -> None:
        self._file.unlink()
