"""Which pools a session has: sizes, sharing, numbers, and what the environment says."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from actorsession import ConfigProto, RunOptions
from actorsession.config import ThreadPoolOptionProto
from actorsession.errors import InvalidArgumentError
from actorsession.runtime.session_pools import NUM_THREADS_VARIABLES, SessionPools, server_pool
from tests.rows import for_each
from transports.host import SYSTEM, Host, on_host

OURS, TENSORFLOWS = NUM_THREADS_VARIABLES


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if no session had been made before, and nothing were in the environment."""
    for name in NUM_THREADS_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with on_host(Host()):
        yield


def pools(**settings: Any) -> SessionPools:
    return SessionPools(ConfigProto(**settings))


def listed(*options: ThreadPoolOptionProto, **settings: Any) -> SessionPools:
    return pools(session_inter_op_thread_pool=options, **settings)


def number(index: int) -> RunOptions:
    return RunOptions(inter_op_thread_pool=index)


def same_threads(one: SessionPools, other: SessionPools) -> bool:
    first, second = one.choose(None), other.choose(None)
    assert first is not None
    assert second is not None
    return first.shares_threads_with(second)


# -- the pool of the process -----------------------------------------------------------------------
def test_sessions_share_one_pool_whose_size_the_first_decides() -> None:
    first = pools(inter_op_parallelism_threads=3)
    second = pools(inter_op_parallelism_threads=7)
    assert first.sizes == second.sizes == (3,)
    assert same_threads(first, second)


def test_a_session_that_comes_when_no_other_lives_decides_anew() -> None:
    first = pools(inter_op_parallelism_threads=3)
    first.shutdown()
    second = pools(inter_op_parallelism_threads=7)
    assert second.sizes == (7,)


def test_without_any_number_there_is_a_thread_per_processor() -> None:
    assert pools().sizes == (SYSTEM.processes.processors(),)


@for_each(
    "environment, threads",
    [
        ({TENSORFLOWS: "5"}, 5),
        ({OURS: "6"}, 6),
        ({OURS: "6", TENSORFLOWS: "5"}, 6),
        ({OURS: "", TENSORFLOWS: " 5 "}, 5),
    ],
    ids=["TensorFlow's", "ours", "ours before TensorFlow's", "an empty one is none"],
)
def test_the_environment_gives_the_number_that_the_settings_leave_open(
    environment: dict[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert pools().sizes == (threads,)
    assert pools(use_per_session_threads=True, inter_op_parallelism_threads=2).sizes == (2,)


def test_a_bad_number_in_the_environment_is_logged_and_ignored(monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setenv(OURS, "many")
    monkeypatch.setenv(TENSORFLOWS, "4")
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        assert pools().sizes == (4,)
    assert f"{OURS} is ignored: 'many'" in caplog.text


# -- the caller's thread ---------------------------------------------------------------------------
def test_a_negative_number_in_the_environment_counts_without_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TENSORFLOWS, "-1")
    assert pools().choose(None) is None
    assert pools(inter_op_parallelism_threads=2).sizes == (2,)


def test_pools_that_are_asked_for_are_there_whatever_the_number_of_threads() -> None:
    """TensorFlow looks for the caller's thread only where a session has no pools of its own."""
    own = pools(use_per_session_threads=True, inter_op_parallelism_threads=-1)
    assert own.sizes == (SYSTEM.processes.processors(),)
    some = listed(ThreadPoolOptionProto(), inter_op_parallelism_threads=-1)
    assert some.sizes == (SYSTEM.processes.processors(),)


# -- pools of a session's own ----------------------------------------------------------------------
def test_a_listed_pool_without_a_number_is_sized_like_the_pool_of_the_process() -> None:
    made = listed(ThreadPoolOptionProto(), inter_op_parallelism_threads=3)
    assert made.sizes == (3,)


@pytest.mark.parametrize("threads", [0, -1])
def test_a_session_without_pools_of_its_own_has_number_0_alone(threads: int) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid inter_op_thread_pool: 1"):
        pools(inter_op_parallelism_threads=threads).choose(number(1))


# -- pools with a global name ----------------------------------------------------------------------
def named(name: str, threads: int = 0) -> SessionPools:
    return listed(ThreadPoolOptionProto(num_threads=threads, global_name=name))


def test_a_name_with_another_size_is_an_invalid_argument_that_names_both() -> None:
    first = named("serving", 2)
    words = r"'serving' has 2 threads and cannot have 3"
    with pytest.raises(InvalidArgumentError, match=words) as refused:
        named("serving", 3)
    assert first.sizes == (2,)
    first.shutdown()
    assert named("serving", 3).sizes == (3,), f"{refused.value!r} holds a share of the threads"


def test_a_session_that_could_not_be_made_holds_no_pool() -> None:
    kept = named("taken", 2)
    with pytest.raises(InvalidArgumentError, match="'taken'"):
        listed(
            ThreadPoolOptionProto(num_threads=4, global_name="fresh"),
            ThreadPoolOptionProto(num_threads=4, global_name="taken"),
        )
    assert named("fresh", 5).sizes == (5,)
    kept.shutdown()


# -- servers ---------------------------------------------------------------------------------------
@for_each(
    "asked, environment, threads",
    [(3, "5", 3), (0, "5", 5), (0, "", SYSTEM.processes.processors()), (-1, "5", None), (0, "-1", None)],
)
def test_a_server_has_one_pool_of_the_size_that_its_settings_or_the_environment_say(
    asked: int, environment: str, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OURS, environment)
    pool = server_pool(ConfigProto(inter_op_parallelism_threads=asked))
    assert (pool.threads if pool is not None else None) == threads
