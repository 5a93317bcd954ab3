"""One side of whole programs: a process that imports a library once and runs programs in forks of itself.

The driver starts this module with the name of a library, and writes to it one line of JSON for each program:
the file and the folder to run in. The answer is a line with the exit status, what went to standard output and
what went to standard error. A fork has its own ``__main__``, folder, threads and end.

It runs with the Python 3.7 of TensorFlow 1.15 too, and imports nothing of this project for that reason.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import selectors
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

__all__ = ["LIMIT", "OURS", "main"]

OURS = "actorsession"

# Seconds for a program; on an idle machine none takes more than a few.
LIMIT = 120


def main(arguments: Sequence[str]) -> int:
    """Run the programs that standard input names, until it ends.

    Args:
        arguments: the library.

    Returns:
        The exit code, of a program in its fork.
    """
    (library,) = arguments
    shared: dict[str, Any] = {}
    atexit.register(_leave_out, shared)  # what is registered first is called last
    _import(library)
    shared.update((name, module) for name, module in sys.modules.items() if name not in ("__main__", "builtins", "sys"))
    kept: list[Any] = [shared]
    kept.append(kept)  # a cycle that is frozen lives as long as its process
    gc.freeze()  # or each fork would walk over all that is imported at its end, a quarter of a second
    for line in sys.stdin:
        path, folder = json.loads(line)
        out, err = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            _take_over(folder, out[1], err[1])
            return _run(library, path)
        os.close(out[1])
        os.close(err[1])
        printed = _read_all(out[0], err[0])
        status = _exit_code(os.waitpid(child, 0)[1])
        sys.stdout.write(json.dumps([status, *printed]) + "\n")
        sys.stdout.flush()
    return 0


def _leave_out(modules: dict[str, Any]) -> None:
    """Let the interpreter end without taking modules apart that a fork shares: that is most of the work of its end."""
    sys.modules.update(dict.fromkeys(modules))  # type: ignore[arg-type]


def _import(library: str) -> None:
    if library == OURS:
        # Whatever a program may use, so that no fork has to import it again.
        for name in ("cli", "compat.v1", "ops", "opsets", "session", "train"):
            package = import_module(f"actorsession.{name}")
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if ".v1.tf_keras." not in found.name:  # which need the package of that name
                    import_module(found.name)
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    tf: Any = import_module("tensorflow.compat.v1")
    tf.logging.set_verbosity(tf.logging.ERROR)
    if not import_module("tensorflow").__version__.startswith("1."):
        tf.disable_v2_behavior()
        # Programs that import ``tensorflow`` mean TensorFlow 1.
        sys.modules["tensorflow"] = tf


def _run(library: str, path: str) -> int:
    """Run a program as ``__main__``."""
    if library == OURS:
        code: int = import_module("actorsession.cli").main(["run-tf1", path])
        return code
    sys.argv = [path]
    import_module("runpy").run_path(path, run_name="__main__")
    return 0


def _exit_code(status: int) -> int:
    # ``os.waitstatus_to_exitcode`` came with Python 3.9.
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _take_over(folder: str, out: int, err: int) -> None:
    """Make a fork a process of its own."""
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nowhere, out, err)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the rest of its life
    signal.alarm(LIMIT)


def _read_all(*descriptors: int) -> list[str]:
    """Return what comes from pipes until nobody holds their other ends."""
    found: dict[int, bytes] = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                piece = os.read(key.fd, 65536)
                found[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [piece.decode(errors="replace") for piece in found.values()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
