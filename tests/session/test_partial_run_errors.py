"""Partial runs that go wrong: refused setups and calls change nothing, errors inside the step end it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import get_default_graph, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.ops.flow import dataflow
from tests.rows import for_each
from tests.session.partial_kit import Stages

# -- wrong setups ----------------------------------------------------------------------------------


async def test_setup_without_fetches_and_targets_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least one target.*feeds a:0 and no fetches"):
        await session.partial_run_setup([], [stages.a])


async def test_a_tensor_both_fed_and_fetched_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="a:0 is both fed and fetched"):
        await session.partial_run_setup([stages.a, stages.first], stages.feeds)


async def test_a_tensor_fed_twice_at_setup_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="'a:0' is fed more than once"):
        await session.partial_run_setup(stages.first, [stages.a, stages.b, "a:0"])


@for_each("feed", ["nowhere:0", "a", 3, None, {1}], ids=repr)
async def test_a_bad_feed_key_is_a_type_error(session: Any, stages: Stages, feed: Any) -> None:
    with pytest.raises(TypeError, match="feed_dict key"):
        await session.partial_run_setup(stages.first, [feed])


async def test_a_bad_fetch_is_refused_as_in_a_run(session: Any, stages: Stages) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        await session.partial_run_setup("nowhere:0", stages.feeds)
    with pytest.raises(TypeError, match="None"):
        await session.partial_run_setup(None, stages.feeds)


async def test_an_empty_graph_is_refused(session: Any) -> None:
    with pytest.raises(RuntimeError, match="empty"):
        await session.partial_run_setup([])


async def test_a_device_that_does_not_exist_is_refused_at_setup(session: Any, stages: Stages) -> None:
    with get_default_graph().device("/job:nope"):
        far = stages.a * 2.0
    with pytest.raises(InvalidArgumentError, match="nope"):
        await session.partial_run_setup(far, [stages.a])
    assert session.counts() == (0, 0, 0)


# -- wrong calls -----------------------------------------------------------------------------------


# What is done before, the wrong call (fetches, feeds), and what the error says.
WRONG: dict[str, Any] = {
    "a feed not named at setup": (
        [],
        (["first"], ["a", "b", "first"]),
        "Feeds of .* are a:0, b:0, c:0; the feed first:0 was not specified",
    ),
    "a fetch not named at setup": ([], (["b"], ["a"]), "are first:0, second:0; the fetch b:0 was not specified"),
    "a feed fed twice": (
        [([], ["a"])],
        ([], ["b", "a"]),
        "Still to be fed in .*: b:0, c:0; the feed a:0 has already been fed",
    ),
    "a fetch fetched twice": (
        [(["first"], ["a", "b"])],
        (["first"], ["c"]),
        "Still .* second:0; the fetch first:0 has already been fetched",
    ),
    "a fetch that needs a feed": ([], (["first"], ["a"]), "Fetch first:0 can't be computed .* also needs b:0"),
    "a fetch that needs feeds": ([([], ["a"])], (["second"], []), "Fetch second:0 .* also needs b:0, c:0"),
}


def by_name(stages: Stages, call: tuple[list[str], list[str]]) -> tuple[Any, Any]:
    fetches, feeds = call
    return [f"{name}:0" for name in fetches], {f"{name}:0": 1.0 for name in feeds}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_call_changes_nothing_and_the_handle_still_works(
    session: Any, stages: Stages, wrong: str
) -> None:
    before, call, said = WRONG[wrong]
    handle = await stages.setup(session)
    for right in before:
        await session.partial_run(handle, *by_name(stages, right))
    left = session.counts()
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match=said):
            await session.partial_run(handle, *by_name(stages, call))
    assert session.counts() == left
    fed = {name for _, feeds in before for name in feeds}
    taken = {name for fetches, _ in before for name in fetches}
    rest = [[n for n in ("first", "second") if n not in taken], [n for n in "abc" if n not in fed]]
    values = await session.partial_run(handle, *by_name(stages, (rest[0], rest[1])))
    assert values == [{"first": 2, "second": 2}[name] for name in rest[0]]
    assert session.counts() == (0, 0, 0)


async def test_an_unknown_handle_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="No partial run of this session has the handle 'nope'"):
        await session.partial_run("nope", stages.first)
    with pytest.raises(TypeError, match="string that partial_run_setup returned, got int"):
        await session.partial_run(3, stages.first)


async def test_another_sessions_handle_is_refused(make_session: Any, stages: Stages) -> None:
    first, second = make_session(), make_session()
    await stages.setup(first)
    handle = await stages.setup(first)  # the other one has made fewer
    await stages.setup(second)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await second.partial_run(handle, [], {stages.a: 1})


async def test_a_complete_handle_is_deleted_and_refused(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    assert session.counts()[:2] == (1, 1)
    await session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 2, "c:0": 3})
    assert session.counts() == (0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="or is complete, failed, or given up"):
        await session.partial_run(handle, stages.first)


async def test_fetching_an_operation_is_a_runtime_error_and_changes_nothing(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup([stages.first, stages.first.op], stages.feeds)
    for fetches in (stages.first.op, [stages.first, "first"]):
        with pytest.raises(RuntimeError, match=r"takes no operations .* got first: name them in partial_run_setup"):
            await session.partial_run(handle, fetches, {stages.a: 1})
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2


async def test_a_placeholder_that_was_never_a_feed_fails_the_first_call_that_is_right(
    session: Any, stages: Stages
) -> None:
    handle = await session.partial_run_setup(stages.fetches, [stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="feed c:0 was not specified"):
        await session.partial_run(handle, [], {stages.c: 1})
    with pytest.raises(InvalidArgumentError, match="feed a value for placeholder tensor 'c'") as caught:
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    assert caught.value.node == "c"
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    assert session.counts() == (0, 0, 0)


async def test_every_run_that_cannot_succeed_has_an_error_of_its_own(session: Any, stages: Stages) -> None:
    """One error for all would grow with each raise, and hold on to what the callers had."""
    errors = []
    for _ in range(2):
        handle = await session.partial_run_setup(stages.second, [stages.a, stages.b])
        with pytest.raises(InvalidArgumentError, match="feed a value for placeholder") as caught:
            await session.partial_run(handle, [], {stages.a: 1})
        errors.append(caught.value)
    first, second = errors
    assert first is not second
    assert (first.message, first.node, first.source) == (second.message, "c", second.source)


async def test_bad_keys_and_values_are_refused_as_in_a_run_and_change_nothing(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    with pytest.raises(TypeError, match="nowhere"):
        await session.partial_run(handle, [], {"nowhere:0": 1})
    with pytest.raises(ValueError, match=r"shape \(2,\) for Tensor b:0"):
        await session.partial_run(handle, [], {stages.a: 1, stages.b: [1, 2]})
    with pytest.raises(ValueError, match="nowhere"):
        await session.partial_run(handle, "nowhere:0", {stages.a: 1})
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2


# -- errors inside the step ------------------------------------------------------------------------


async def test_after_an_error_inside_the_step_the_handle_is_gone_and_the_session_is_not(
    session: Any, stages: Stages
) -> None:
    divisor = ops.placeholder("int32", [], name="divisor")
    quotient = ops.floordiv(ops.constant(6), divisor, name="quotient")
    handle = await session.partial_run_setup([quotient, stages.first], [divisor, stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="division by zero") as caught:
        await session.partial_run(handle, quotient, {divisor: 0})
    assert caught.value.node == "quotient"
    assert "test_partial_run_errors.py" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})
    assert session.counts() == (0, 0, 0)
    assert await session.run(quotient, {divisor: 2}) == 3
    again = await session.partial_run_setup(quotient, divisor)
    assert await session.partial_run(again, quotient, {divisor: 3}) == 2


async def test_an_error_at_setup_is_told_by_the_first_call(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(1), name="v")
    handle = await session.partial_run_setup([v + 1.0, stages.first], stages.feeds)
    with pytest.raises(FailedPreconditionError, match="v"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})


async def test_an_error_of_an_operation_that_nobody_fetches_is_told_too(session: Any, stages: Stages) -> None:
    divisor = ops.placeholder("int32", [], name="divisor")
    quotient = ops.constant(6) // divisor
    handle = await session.partial_run_setup([quotient.op, stages.first], [divisor, stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="division by zero"):
        await session.partial_run(handle, [], {divisor: 0})
    assert session.counts() == (0, 0, 0)


async def test_a_run_that_fetches_what_is_dead_ends(session: Any, stages: Stages) -> None:
    value, taken = ops.placeholder("int32", []), ops.placeholder("bool", [])
    dead = ops.add(dataflow.switch(value, taken).output_true, 1, name="dead")
    handle = await session.partial_run_setup([dead, stages.second], [value, taken, *stages.feeds])
    with pytest.raises(InvalidArgumentError, match="'dead:0' is on a way that was not taken"):
        await session.partial_run(handle, dead, {value: 1, taken: False})
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.second, {"a:0": 1, "b:0": 1, "c:0": 1})
    assert session.counts() == (0, 0, 0)
