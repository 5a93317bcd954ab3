"""Errors of steps name the operation of the user's graph that failed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession import ops
from actorsession.errors import InvalidArgumentError, OpError, UnknownError
from tests.nodes import make_one, op_type


async def test_an_error_has_the_operation_that_was_not_fed(session: Any) -> None:
    x = ops.placeholder("float32", name="x")
    with pytest.raises(InvalidArgumentError) as caught:
        await session.run(x + 1.0)
    assert caught.value.op is x.op
    assert caught.value.node_def.name == "x"


async def test_an_error_has_the_operation_whose_kernel_failed(session: Any) -> None:
    x = ops.placeholder("float32", name="x")
    checked = ops.check_numerics(x, "no number", name="checked")
    with pytest.raises(InvalidArgumentError) as caught:
        await session.run(checked, {x: float("nan")})
    assert caught.value.op is checked.op


class Give:
    """What the kernel of ``TestRaises`` raises."""

    error: BaseException = asyncio.CancelledError()

    @classmethod
    def raised(cls, x: Any) -> Any:
        raise cls.error


op_type("TestRaises", lambda context: Give.raised, stateful=True)


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [asyncio.CancelledError(), Mute()], ids=["cancelled", "mute"])
async def test_whatever_a_kernel_raises_is_the_error_of_its_step(
    session: Any, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a cancelled task does not cancel the caller, whose task nobody has cancelled."""
    monkeypatch.setattr(Give, "error", error)
    x = ops.placeholder("float32", name="x")
    y = make_one("TestRaises", (x,), {}, "y")
    for _ in range(3):
        with pytest.raises(UnknownError, match=type(error).__name__) as caught:
            await session.run(y, {x: 1.0})
        assert caught.value.op is y.op
        assert await session.run(x + 1.0, {x: 1.0}) == 2.0


async def test_an_error_of_no_operation_has_none(session: Any) -> None:
    with pytest.raises(OpError) as caught:
        raise InvalidArgumentError("said")
    assert (caught.value.op, caught.value.node_def) == (None, None)
