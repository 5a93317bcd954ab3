"""The last lines of a child, read whatever the program does that has started it."""

from __future__ import annotations

import os
import threading

from actorsession.cluster.launch.stderr_reader import StderrReader
from tests.cluster.kit import eventually


async def test_who_writes_never_waits_and_the_last_lines_are_kept() -> None:
    """Far more than a pipe takes, while the loop of the program stands still: it is this test's."""
    drain = StderrReader("child")
    child = os.dup(drain.writing_end)
    drain.start()
    for number in range(1000):
        os.write(child, f"line {number} {'x' * 2000}\n".encode())
    os.write(child, b"the end")
    os.close(child)
    await eventually(lambda: drain.ended)
    assert [line.split()[1] for line in drain.lines[:-1]] == [str(n) for n in range(961, 1000)]
    assert max(map(len, drain.lines)) == 1000
    assert drain.lines[-1] == "the end"
    drain.stop()


async def test_it_is_given_up_while_somebody_holds_the_pipe() -> None:
    drain = StderrReader("child")
    child = os.dup(drain.writing_end)
    drain.start()
    os.write(child, b"said\n")
    await eventually(lambda: drain.lines == ("said",))
    assert not drain.ended
    drain.stop()
    drain.stop()
    await eventually(lambda: drain.ended)
    assert not any(t.name == "actorsession-drain-child" for t in threading.enumerate())
    os.close(child)
