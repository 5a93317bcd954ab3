"""The end of a process in the errors of sessions that have lost it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession.errors import UnavailableError
from actorsession.rpc.exit_reports import LAST_LINES, add_exit_status, register_exit_reporter, unregister_exit_reporter

TASK, TARGET = "/job:worker/replica:0/task:1", "tcp://here:1"
HOW = f"{TASK} (pid 7) was killed by SIGKILL; it held 50 MiB at most"


@pytest.fixture
def ended() -> Iterator[None]:
    async def reporter(task: str | None) -> str:
        return f"{HOW}{LAST_LINES}one\ntwo" if task == TASK else ""

    register_exit_reporter(TARGET, reporter)
    yield
    unregister_exit_reporter(TARGET)


@pytest.mark.usefixtures("ended")
async def test_it_comes_first_and_the_last_lines_come_last() -> None:
    error = UnavailableError(f"the connection to {TASK} was closed by the peer", task=TASK)
    for _ in range(2):  # several callers may share the error
        assert await add_exit_status(error, TARGET) is error
        assert error.message == (f"{HOW}: the connection to it was closed by the peer; its last lines:\none\ntwo")
        assert str(error) == error.message


@pytest.mark.usefixtures("ended")
async def test_it_replaces_what_the_link_has_seen_of_the_end_of_the_process() -> None:
    seen = f"{TASK} (pid 7) has ended: the connection to {TASK} was closed by the peer"
    error = await add_exit_status(UnavailableError(seen, task=TASK), TARGET)
    assert error.message.startswith(f"{HOW}: the connection to it was closed by the peer; ")


@pytest.mark.usefixtures("ended")
async def test_of_other_tasks_and_targets_nothing_is_known() -> None:
    for task, target in ((None, TARGET), ("/job:ps/replica:0/task:0", TARGET), (TASK, "tcp://b:1")):
        error = UnavailableError("lost", task=task)
        assert (await add_exit_status(error, target)).message == "lost"
