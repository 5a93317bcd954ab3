"""Programs that share their start: each runs in a fork of one process that has imported the package.

Importing takes half a second of a processor, which is more than most short programs take. A fork has all that
a process of its own has: its own ``__main__``, folder, descriptors, threads and end, with what is called at
the exit of an interpreter. What a program forgets to import it does not find, because its names are its own.

``python -W error -m tests.forked_programs`` is that process. It reads programs as lines of JSON, and answers each with
one.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["Ended", "Warm", "warm_process"]

ROOT = Path(__file__).resolve().parents[1]

# Seconds for a program; none comes near.
LIMIT = 50


class Ended(NamedTuple):
    """What a program left: its exit status, and all that was written until its last process had ended."""

    status: int
    out: str
    err: str


class Warm:
    """A process that has imported the package and runs programs in forks of itself.

    Args:
        process: the process, which runs this module.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, code: str, folder: Path) -> Ended:
        """Runs a program to its end, in a folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([code, str(folder)]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that programs are forked from has ended"
        return Ended(*json.loads(answer))


@contextmanager
def warm_process() -> Iterator[Warm]:
    """A process to run programs in, which ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.forked_programs"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield Warm(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(LIMIT) == 0
        finally:
            process.kill()


def _serve() -> str | None:
    """Answers all programs; returns what is to be run in a fork, in the fork."""
    for line in sys.stdin:
        code, folder = json.loads(line)
        out, err = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            _take_over(folder, out[1], err[1])
            return str(code)
        os.close(out[1])
        os.close(err[1])
        said, complaints = _read_both(out[0], err[0])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(json.dumps([status, said, complaints]) + "\n")
        sys.stdout.flush()
    return None


def _take_over(folder: str, out: int, err: int) -> None:
    """Makes a fork a process of its own."""
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nowhere, out, err)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the rest of its life
    sys.argv = ["-c"]
    signal.alarm(LIMIT)


def _read_both(*descriptors: int) -> list[str]:
    """All that comes from some pipes until nobody holds their other ends."""
    import selectors

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


def _import_all() -> None:
    """Imports what programs use, and takes what they have to import themselves out of the package again."""
    import actorsession.cluster
    import actorsession.compat.v1
    import actorsession.train

    for name in actorsession.__all__:
        getattr(actorsession, name)
    with actorsession.Graph().as_default() as graph:
        one = actorsession.constant(1.0) + 0.0
    with actorsession.Session(graph=graph) as session:
        session.run(one)
    for name in set(vars(actorsession)) - set(actorsession.__all__):
        if isinstance(getattr(actorsession, name), types.ModuleType):
            delattr(actorsession, name)


def _main() -> None:
    _import_all()
    gc.collect()
    gc.freeze()
    code = _serve()
    if code is not None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(code, "<string>", "exec"), main.__dict__)  # noqa: S102 - a test's own


if __name__ == "__main__":
    _main()
