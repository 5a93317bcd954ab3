"""How our own programs are started: by this interpreter, with the flags and the import path of this process.

``python -m`` searches modules in the current folder first, and finds a ``queue.py`` there that its parent has
never seen; and a parent that was started with ``-I`` has no ``PYTHONPATH`` for its children either. So they
are given the path as it is here, before they import anything. Used wherever a process of ours is spawned.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["command", "flags", "import_path"]

# Attributes of ``sys.flags`` with their letters. Those of the console (-i, -q, -v) are for the parent alone.
_LETTERS = {
    "bytes_warning": "b",
    "dont_write_bytecode": "B",
    "ignore_environment": "E",
    "isolated": "I",
    "no_site": "S",
    "no_user_site": "s",
    "optimize": "O",
    "safe_path": "P",
}


def flags() -> list[str]:
    """Return the options of an interpreter that treats code, modules and warnings as this one does."""
    letters = [f"-{letter * getattr(sys.flags, name)}" for name, letter in _LETTERS.items()]
    options = [name if value is True else f"{name}={value}" for name, value in sys._xoptions.items()]
    return [
        *(given for given in letters if given != "-"),
        *(word for option in options for word in ("-X", option)),
        *(f"-W{option}" for option in sys.warnoptions),
    ]


def import_path() -> list[str]:
    """Return where this process finds modules, and last where it has found this package.

    First comes what the process has put into ``PYTHONPATH`` for its children since it was started.
    """
    package = sys.modules[__name__.partition(".")[0]]
    root = str(Path(str(package.__file__)).resolve().parents[1])
    own = [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]  # "" is the current
    given = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    added = [os.path.abspath(folder) for folder in given.split(os.pathsep) if folder]
    return list(dict.fromkeys([*(folder for folder in added if folder not in own), *own, root]))


def command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Return the command that runs a module as a program.

    Args:
        module: the name of the module, or of a package with a ``__main__``.
        arguments: of the program.
        python: the interpreter. Another one than ours has a path of its own.
    """
    own = [python, *flags(), "-P"]
    if python != sys.executable:
        return [*own, "-m", module, *arguments]
    run = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return [*own, "-c", f"import sys; sys.path[:] = {import_path()!a}; {run}", *arguments]
