from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import CallContext, Deadline
from actorsession.actors.delivery import Delivery
from actorsession.errors import AbortedError, DeadlineExceededError, UnavailableError
from tests.actors.kit import Note, Say, soon, turns


def expecting(seconds: float | None = 10.0) -> tuple[Delivery, Any, list[Delivery]]:
    delivery = Delivery(Say(text=""), CallContext(Deadline.after(seconds)), "desk")
    abandoned: list[Delivery] = []
    return delivery, delivery.expect_answer(abandoned.append), abandoned


async def test_the_first_answer_counts() -> None:
    delivery, answer, _ = expecting()
    delivery.succeed("first")
    delivery.succeed("second")
    delivery.fail(AbortedError("third"))
    assert await soon(answer) == "first"


async def test_the_first_error_counts() -> None:
    delivery, answer, _ = expecting()
    delivery.fail(UnavailableError("first"))
    delivery.succeed("second")
    with pytest.raises(UnavailableError, match="first"):
        await soon(answer)


async def test_an_answer_that_is_cancelled_before_a_child_works_is_abandoned() -> None:
    delivery, answer, abandoned = expecting()
    assert not delivery.abandoned
    answer.cancel()
    await turns()
    assert (delivery.abandoned, abandoned) == (True, [delivery])


async def test_an_answer_that_is_cancelled_while_a_child_works_cancels_the_child() -> None:
    delivery, answer, abandoned = expecting()
    delivery.child = asyncio.create_task(asyncio.Event().wait())
    answer.cancel()
    await turns()
    assert (delivery.child.cancelled(), abandoned) == (True, [])


async def test_without_a_child_the_deadline_says_that_there_was_no_room() -> None:
    _, answer, _ = expecting(0.01)
    with pytest.raises(DeadlineExceededError, match=r"Say to actor 'desk' .* waited for space"):
        await soon(answer)


async def test_an_answer_ends_the_timer() -> None:
    delivery, answer, _ = expecting()
    delivery.succeed("x")
    assert await soon(answer) == "x"
    await turns()
    assert delivery._timer is not None
    assert delivery._timer.cancelled()


async def test_without_a_limit_no_timer_runs() -> None:
    delivery, answer, _ = expecting(None)
    assert delivery._timer is None
    answer.cancel()
    await turns()


async def test_nobody_is_answered_for_a_tell() -> None:
    delivery = Delivery(Note(number=1), CallContext(Deadline.never()), "desk")
    delivery.succeed("x")
    delivery.fail(AbortedError("y"))
    assert (delivery.answer, delivery.abandoned, str(delivery)) == (None, False, "Note to actor 'desk'")
