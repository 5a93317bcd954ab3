"""Durations: whatever somebody gives is checked where it comes in, and every row here is one such place."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import Server
from actorsession.actors import Deadline
from actorsession.cli import _parser
from actorsession.cli.console import seconds
from actorsession.durations import (
    MOST_MILLISECONDS,
    MOST_SECONDS,
    RULES,
    checked_milliseconds,
    checked_seconds,
    is_seconds,
)
from actorsession.errors import InvalidArgumentError
from actorsession.rpc.liveness.lease import Lease
from tests.engines.kit import DeskCluster
from transports import Hello, connect, listen

HELLO = Hello(cluster_id="", task="/job:worker/replica:0/task:0", incarnation=1, pid=1)
NO_NUMBERS = (True, "1", b"1", [1.0], 1j)
WRONG = (math.nan, -1, -1e-9, -math.inf, 1e300, math.nextafter(MOST_SECONDS, math.inf), 10**5000)


def server(**more: Any) -> Server:
    return Server({"worker": ["127.0.0.1:0"]}, "worker", settings=acts.ServerSettings(**more))


def local(**more: Any) -> acts.LocalCluster:
    return acts.LocalCluster({"worker": 1}, snapshot_dir="unused", **more)


def session() -> acts.Session:
    return acts.Session(graph=some())


def some() -> acts.Graph:
    with acts.Graph().as_default() as graph:
        acts.no_op()
    return graph


async def never(connection: Any) -> None:
    raise AssertionError("nobody connects")


# Where durations come in, with the lower bound that belongs to each: whether 0 is one, and infinity.
PLACES: Mapping[str, tuple[Callable[[Any], Any], bool, bool]] = {
    "Server(session_gc_seconds)": (lambda s: server(session_gc_seconds=s), True, False),
    "Server(snapshot_every)": (lambda s: server(snapshot_every=s), False, False),
    "Server(restart_wait)": (lambda s: server(restart_wait=s), True, False),
    "Server(beat)": (lambda s: server(beat=s, lease=1e9), False, False),
    "Server(lease)": (lambda s: server(beat=1e-12, lease=s), False, False),
    "Server.stop": (lambda s: server().stop(s), True, False),
    "Server.keep": (lambda s: server().keep(s), False, False),
    "LocalCluster(start_timeout)": (lambda s: local(start_timeout=s), False, False),
    "LocalCluster(snapshot_every)": (lambda s: local(snapshot_every=s), False, False),
    "LocalCluster.stop": (lambda s: local().stop(s), True, False),
    "LocalCluster.remove": (lambda s: local().remove("worker", grace=s), True, False),
    "EngineCluster(start_timeout)": (lambda s: DeskCluster({"worker": 1}, start_timeout=s), False, False),
    "EngineCluster(snapshot_every)": (lambda s: DeskCluster({"worker": 1}, snapshot_every=s), False, False),
    "EngineCluster(keep)": (lambda s: DeskCluster({"worker": 1}, keep=s), False, False),
    "Lease": (lambda s: Lease(beat=s, lease=1e9, now=0.0), False, False),
    "Session.run": (lambda s: session().run([], timeout=s), False, False),
    "AsyncSession.run": (lambda s: acts.AsyncSession(graph=some()).run([], timeout=s), False, False),
    "Session.wait_for": (lambda s: session().wait_for("/job:worker", timeout=s), False, False),
    "fit": (lambda s: acts.train.fit(session(), [], [{}], loss=None, timeout=s), False, False),
    "Group": (lambda s: acts.collective.Group(1, acts.Graph(), s), True, False),
    "Coordinator.join": (lambda s: acts.train.Coordinator().join(stop_grace_period_secs=s), True, False),
    "Coordinator.wait_for_stop": (lambda s: stopped().wait_for_stop(s), True, True),
    "LooperThread": (lambda s: acts.train.LooperThread(stopped(), s), True, False),
    "SecondOrStepTimer": (lambda s: tf.train.SecondOrStepTimer(every_secs=s), True, True),
    "GlobalStepWaiterHook": (lambda s: tf.train.GlobalStepWaiterHook(1, s), True, True),
    "WorkerSessionCreator": (lambda s: tf.train.WorkerSessionCreator(max_wait_secs=s), True, True),
    "SessionManager": (lambda s: tf.train.SessionManager(recovery_wait_secs=s), True, False),
    "Supervisor(stop_grace_secs)": (lambda s: supervisor(stop_grace_secs=s), True, False),
    "Supervisor(save_model_secs)": (lambda s: supervisor(save_model_secs=s), True, False),
    "Supervisor(save_summaries_secs)": (lambda s: supervisor(save_summaries_secs=s), True, False),
    "Supervisor(recovery_wait_secs)": (lambda s: supervisor(recovery_wait_secs=s), True, False),
    "EvalSpec(start_delay_secs)": (lambda s: tf.estimator.EvalSpec(print, start_delay_secs=s), True, False),
    "EvalSpec(throttle_secs)": (lambda s: tf.estimator.EvalSpec(print, throttle_secs=s), True, False),
    "checkpoints_iterator(min_interval_secs)": (
        lambda s: next(tf.train.checkpoints_iterator("/none", s, timeout=0), None),
        True,
        False,
    ),
    "transports.connect": (lambda s: connect("inproc://nobody", HELLO, timeout=s), True, False),
    "transports.listen": (lambda s: listen("nonsense", HELLO, never, handshake_timeout=s), True, False),
}


def stopped() -> acts.train.Coordinator:
    coordinator = acts.train.Coordinator()
    coordinator.request_stop()
    return coordinator


def supervisor(**more: Any) -> Any:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        return tf.train.Supervisor(**more)


async def called(call: Callable[[Any], Any], value: Any) -> None:
    found = call(value)
    if inspect.isawaitable(found):
        await found


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_no_duration_is_refused_where_it_comes_in(place: str) -> None:
    call, zero, forever = PLACES[place]
    for value in NO_NUMBERS:
        with pytest.raises(TypeError, match=", got "):
            await called(call, value)
    wrong = [*WRONG, *([] if zero else [0, 0.0]), *([] if forever else [math.inf])]
    for value in wrong:
        with pytest.raises((ValueError, InvalidArgumentError)) as info:
            await called(call, value)
        shown = "integer" if type(value) is int and value > 9 else repr(value)
        assert shown in str(info.value)
        assert f"{MOST_SECONDS:g} seconds" in str(info.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda ms: acts.RunOptions(timeout_in_ms=ms),
        lambda ms: acts.ConfigProto(operation_timeout_in_ms=ms),
        lambda ms: acts.ConfigProto(partial_run_idle_limit_in_ms=ms),
        lambda ms: checked_milliseconds("timeout_in_ms", ms),
    ],
)
def test_milliseconds_have_the_same_range(make: Callable[[int], object]) -> None:
    make(MOST_MILLISECONDS)
    for value in (-1, MOST_MILLISECONDS + 1):
        with pytest.raises(InvalidArgumentError, match=f"got {value}; the most is {MOST_MILLISECONDS} milli|64 bits"):
            make(value)


def test_every_option_of_a_command_that_is_in_seconds_is_checked() -> None:
    found = 0
    for parser in _parser(with_demo=True)[1].values():
        for action in parser._actions:
            if action.metavar == "SECONDS":
                assert action.type is seconds, action
                found += 1
    assert found >= 9
    for text in ("1e300", "nan", "inf", "-1", "0", "x", "1" * 5000, str(2 * MOST_SECONDS)):
        with pytest.raises(argparse.ArgumentTypeError, match="a positive number of seconds, got"):
            seconds(text)
    assert seconds("1e9") == MOST_SECONDS


@pytest.mark.parametrize("name", RULES)
def test_each_rule_accepts_its_range_and_says_it(name: str) -> None:
    rule = RULES[name]
    good: list[Any] = [1, 1e-9, MOST_SECONDS, np.float32(2.5), np.int64(3)]
    for value in good + [0, 0.0] * rule.zero + [math.inf] * rule.forever:
        found = checked_seconds(name, value)
        assert (found, type(found)) == (float(value), float)
    with pytest.raises(rule.error, match=rf"^the lamp: {rule.words}, got nan; the most"):
        checked_seconds(name, math.nan, of="the lamp: ")


def test_a_deadline_is_a_moment_that_comes() -> None:
    for value in (math.nan, math.inf, -math.inf, 1e300, 10**5000, *NO_NUMBERS):
        with pytest.raises((TypeError, InvalidArgumentError), match="a deadline is at most 1e"):
            Deadline.after(value)  # type: ignore[arg-type]
        assert not is_seconds(value)


async def test_the_longest_duration_is_one_that_timers_and_locks_accept() -> None:
    handle = asyncio.get_running_loop().call_later(MOST_SECONDS, print)
    handle.cancel()
    assert threading.TIMEOUT_MAX > MOST_SECONDS
    timer = threading.Timer(MOST_SECONDS, print)
    timer.start()
    timer.cancel()
    timer.join()
    assert not Deadline.after(MOST_SECONDS).expired


def test_a_run_of_the_longest_duration_is_a_run(tmp_path: Path) -> None:
    with acts.Graph().as_default() as graph:
        y = acts.constant(2.0) * 3.0
    with acts.Session(graph=graph) as here:
        assert here.run(y, timeout=MOST_SECONDS) == 6.0
        assert here.run(y, options=acts.RunOptions(timeout_in_ms=MOST_MILLISECONDS)) == 6.0
