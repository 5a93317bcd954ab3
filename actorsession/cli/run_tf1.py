"""``actorsession run-tf1``: runs a program for TensorFlow 1 as it is."""

from __future__ import annotations

import argparse
import builtins
import os
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from actorsession.cli.console import FAILURE, SUCCESS, UsageError, raw
from actorsession.terminal_text import write_lines

__all__ = ["add_to"]

_COMPAT = Path(__file__).parent.parent / "compat"
_OURS = (
    __file__,
    str(_COMPAT / "alias.py"),
    str(_COMPAT / "older_conversions.py"),
    "<frozen runpy>",
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
)

_EPILOG = """\
The program's imports of tensorflow find this library, and names that numpy and Python have removed since,
such as numpy.float, are there again. Processes that it starts with this Python find the library too.
A name that does not exist is an error with its line and what may have been meant; check-tf1 lists all
such names without running anything.

exit status: that of the program; 1 after an error of it; 2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "run-tf1",
        help="run a program for TensorFlow 1",
        description="Run a program that imports tensorflow, which need not be installed.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("-m", action="store_true", dest="module", help="SCRIPT is a module's name")
    parser.add_argument(
        "--soft-placement",
        action="store_true",
        help="place on a processor what asks for a GPU, as if the program set allow_soft_placement",
    )
    parser.add_argument(
        "--device",
        choices=["cpu", "gpu", "torch-cpu"],
        default="cpu",
        help="where what asks for no device runs: with numpy, or with PyTorch on a GPU or on the processor (the torch "
        "extra)",
    )
    parser.add_argument("script", metavar="SCRIPT", help="the file of the program")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="the program's own arguments")
    # What the program logs, and how, is its own matter.
    parser.set_defaults(run=_run, own_logging=True)


def _run(options: argparse.Namespace) -> int:
    from actorsession.compat.alias import DEVICE, install_alias, shim_folder
    from actorsession.compat.found_keras import missing_because
    from actorsession.compat.older_conversions import are_needed
    from actorsession.compat.older_names import restore_older_names
    from actorsession.compat.v1.graphs import behavior
    from actorsession.compat.v1.sessions.settings import place_softly

    if not options.module and not Path(options.script).is_file():
        raise UsageError(f"SCRIPT: there is no file {options.script!r}")
    install_alias()
    # Above all sizes are objects: x.shape[0].value.
    behavior.disable_v2_behavior()
    if options.soft_placement:
        place_softly()
    preferred = "" if options.device == "cpu" else options.device.upper().replace("-", "_")
    if preferred:
        _prefer(preferred, options.device)
    restore_older_names()
    # Processes that the program starts, and those that multiprocessing spawns, look for it there.
    shim, inherited = str(shim_folder()), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([shim, *([inherited] if inherited else [])])
    os.environ[DEVICE] = preferred
    own = os.getcwd() if options.module else str(Path(options.script).resolve().parent)
    sys.path[:1] = [own, shim]
    sys.argv[:] = [options.script, *options.arguments]
    try:
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        elif are_needed():
            _run_file(options.script)
        else:
            runpy.run_path(options.script, run_name="__main__")
    except Exception as exc:
        # Without the frames that only this command adds.
        told = traceback.TracebackException.from_exception(exc)
        told.stack[:] = [frame for frame in told.stack if frame.filename not in _OURS]
        write_lines(sys.stderr, "".join(told.format()).removesuffix("\n").split("\n"))
        if isinstance(exc, ModuleNotFoundError) and exc.name == "keras":
            write_lines(sys.stderr, [str(missing_because())])
        return FAILURE
    return SUCCESS


def _prefer(device_type: str, device: str) -> None:
    from actorsession.errors import FailedPreconditionError
    from actorsession.runtime.devices import prefer_device_type

    try:
        prefer_device_type(device_type)
    except FailedPreconditionError as error:
        raise UsageError(f"--device {device}: {error.message}") from error


def _run_file(path: str) -> None:
    """Run a file as ``runpy`` does, with conversions as they were when it was written."""
    from actorsession.compat.older_conversions import LoadsProgram

    module = ModuleType("__main__")
    module.__file__ = path
    vars(module)["__builtins__"] = builtins
    sys.modules["__main__"] = module
    LoadsProgram("__main__", path).exec_module(module)
