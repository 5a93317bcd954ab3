"""Forked children of a test: what their calls come to. One that hangs is ended by its alarm."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import Any

SECONDS = 30


def in_a_child(calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """What each of the calls returns or raises in a forked process; a line for each."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            for name, call in calls.items():
                os.write(writer, f"{name}={outcome(call)}\n".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    assert os.waitpid(child, 0)[1] == 0, f"the child hung after {lines}"
    return dict(line.split("=", 1) for line in lines)


def outcome(call: Callable[[], Any]) -> str:
    """What a call comes to, in one line; a coroutine is driven until it waits for something."""
    try:
        made = call()
        if hasattr(made, "send"):
            made.send(None)
            made.close()
            return "waits"
        return f"returned {made!r}"
    except StopIteration as returned:
        return f"returned {returned.value!r}"
    except BaseException as exc:
        return f"{type(exc).__name__}: {exc}".replace("\n", " ")


def refusals(found: dict[str, str]) -> Iterable[str]:
    """The names of the calls that were refused because the object is the parent's."""
    said = "it belongs to the parent process"
    return (name for name, line in found.items() if line.startswith("RuntimeError") and said in line)
