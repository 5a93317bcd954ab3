"""The machine as the rooms above see it."""

from __future__ import annotations

import subprocess
import sys

from tests.rows import for_each

# Leaves room for little more than the stack of a thread, in small steps: where there is no room for its first call,
# ``Thread.start`` never returns.
STARTS = """
import faulthandler, resource, threading
from transports.host.processes import Processes

faulthandler.dump_traceback_later(60, exit=True)
processes, gate = Processes(), threading.Event()
threading.stack_size(2**20)
pool = processes.workers(1000, "pool")
for room in range(2**20 - 2**16, 2**20 + 2**18, 2**12):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        {start}
    except RuntimeError as error:
        assert str(error).startswith("can't start new thread"), error
gate.set()
"""


@for_each("start", ['processes.start_thread(gate.wait, "one")', "pool.submit(gate.wait)"], ids=["thread", "pool"])
def test_a_thread_that_would_have_no_memory_for_its_first_call_is_not_started(start: str) -> None:
    ended = subprocess.run([sys.executable, "-c", STARTS.replace("{start}", start)], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
