"""Steps that take too long or fail: when they end, and whether they wait for their kernels."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, ops
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from tests.session.probe import Probe

KERNEL = "actorsession-kernel"
Make = Callable[..., Any]
OWN_THREADS = ConfigProto(device_count={"CPU": 2}, use_per_session_threads=True)


# -- limits in time --------------------------------------------------------------------------------


def slow_then_more(graph: Graph, far: bool) -> tuple[Any, Probe, threading.Event]:
    """A node that takes longer than the limit, one behind it, and a switch that makes it fast."""
    fast = threading.Event()
    slow = Probe("slow", lambda: None if fast.is_set() else time.sleep(0.05), dear=False)
    after = Probe("after", dear=False)
    held = slow(ops.constant(1.0))
    with graph.device("/cpu:1" if far else "/cpu:0"):
        return after(held), after, fast


LIMITS = {
    "the session's": (ConfigProto(operation_timeout_in_ms=20), None),
    "the run's": (ConfigProto(), RunOptions(timeout_in_ms=20)),
    "the run's before the session's": (ConfigProto(operation_timeout_in_ms=60_000), RunOptions(timeout_in_ms=20)),
    "in the caller's thread": (ConfigProto(inter_op_parallelism_threads=-1), RunOptions(timeout_in_ms=20)),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("far", [False, True], ids=["one call", "two devices"])
async def test_a_run_that_is_too_long_ends_between_two_nodes_with_deadline_exceeded(
    limit: str, far: bool, make_session: Make, graph: Graph
) -> None:
    config, options = LIMITS[limit]
    config = ConfigProto(
        **{n: getattr(config, n) for n in ("operation_timeout_in_ms", "inter_op_parallelism_threads")},
        device_count={"CPU": 2},
    )
    y, after, fast = slow_then_more(graph, far)
    session = make_session(config)
    whose = "run's" if options else "session's"
    with pytest.raises(DeadlineExceededError, match=rf"step .*exceeded the {whose} limit of 0\.02 s"):
        await session.run(y, options=options)
    assert after.threads == []
    assert session.session.statistics().steps == 0
    fast.set()
    assert await session.run(y, options=RunOptions(timeout_in_ms=60_000)) == 1.0
    assert len(after.threads) == 1


async def test_a_step_that_has_done_everything_wins_over_its_limit(make_session: Make, graph: Graph) -> None:
    """Nothing could end its last node, which holds the thread; to raise would hide what the step did."""
    y = Probe("last", lambda: time.sleep(0.05), dear=False)(ops.constant(1.0))
    session = make_session()
    assert await session.run(y, options=RunOptions(timeout_in_ms=20)) == 1.0


async def test_a_limit_ends_a_step_in_a_pool_of_the_session(make_session: Make, graph: Graph) -> None:
    slow = Probe("pooled slow", lambda: time.sleep(0.5))
    after = Probe("pooled after")
    held = slow(ops.constant(1.0))
    y = after(held)
    session = make_session(ConfigProto(use_per_session_threads=True))
    with pytest.raises(DeadlineExceededError, match=r"exceeded the run's limit of 0\.25 s") as info:
        await session.run(y, options=RunOptions(timeout_in_ms=250))
    assert info.value.op is held.op
    assert slow.threads == [f"{KERNEL}-session_0"]
    assert after.threads == []


async def test_the_error_of_a_limit_names_the_node_that_was_awaited_and_its_line(
    make_session: Make, graph: Graph
) -> None:
    queue = ops.FIFOQueue(1, ["float32"], [[]])
    taken = queue.dequeue(name="taken")
    session = make_session(ConfigProto(operation_timeout_in_ms=50))
    with pytest.raises(DeadlineExceededError) as info:
        await session.run(taken + 1.0)
    error = info.value
    assert (error.op, error.node) == (taken.op, "taken")
    assert "the session's limit of 0.05 s (operation_timeout_in_ms): 'taken' (Queue" in str(error)
    assert str(error).count(f"{error.source}") == 1
    assert str(error).count("taken") == 1


# -- kernels of a step that has failed -------------------------------------------------------------


def hold(begun: threading.Event, gate: threading.Event, back: threading.Event) -> None:
    """What a kernel does that is held until it is let go, and says that it has begun and come back."""
    begun.set()
    gate.wait(20)
    back.set()


def fails_while_another_runs(graph: Graph) -> tuple[Any, threading.Event, threading.Event]:
    """A step of which one part is held in the pool while the other fails, what lets it go, and whether it
    has come back."""
    begun, gate, back = threading.Event(), threading.Event(), threading.Event()

    def fail() -> None:
        assert begun.wait(20), "the other part has not begun, which comes before this one"
        raise InvalidArgumentError("this part fails")

    held = Probe("held", lambda: hold(begun, gate, back))(ops.constant(1.0))
    with graph.device("/cpu:1"):
        failing = Probe("failing", fail, dear=False)(ops.constant(1.0))
    return [held, failing], gate, back


@pytest.mark.parametrize("variable", ["ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH"])
@pytest.mark.parametrize("word", ["false", "0", "False"])
async def test_without_sync_on_finish_a_failed_step_does_not_wait_for_its_kernels(
    variable: str,
    word: str,
    make_session: Make,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[float], None],
) -> None:
    monkeypatch.setenv(variable, word)
    settle(60.0)  # who waits would wait until it is back
    fetches, gate, back = fails_while_another_runs(graph)
    session = make_session(OWN_THREADS)
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await session.run(fetches)
    assert not back.is_set()
    gate.set()


@pytest.mark.parametrize("word", [None, "true", "1", "maybe"])
async def test_a_failed_step_waits_for_its_kernels_by_default(
    word: str | None,
    make_session: Make,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[float], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    if word is not None:
        monkeypatch.setenv("TF_SYNC_ON_FINISH", word)
    settle(60.0)
    fetches, gate, back = fails_while_another_runs(graph)
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        session = make_session(OWN_THREADS)
    assert ("TF_SYNC_ON_FINISH is ignored: 'maybe'" in caplog.text) == (word == "maybe")
    run = asyncio.create_task(session.run(fetches))
    done, _ = await asyncio.wait({run}, timeout=0.1)
    assert not done
    gate.set()
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await run
    assert back.is_set()


async def test_a_step_given_up_without_sync_on_finish_leaves_its_kernel_behind(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, settle: Callable[[float], None]
) -> None:
    monkeypatch.setenv("ACTORSESSION_SYNC_ON_FINISH", "false")
    settle(60.0)
    begun, gate, back = threading.Event(), threading.Event(), threading.Event()
    held = Probe("behind", lambda: hold(begun, gate, back))(ops.constant(1.0))
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            await session.run(held, options=RunOptions(timeout_in_ms=20))
        assert not back.is_set()
        gate.set()
        assert await session.run(held) == 1.0
