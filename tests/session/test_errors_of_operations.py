"""Errors of steps name the operation of the user's graph that failed."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import ops
from actorsession.errors import InvalidArgumentError, OpError


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


async def test_an_error_of_no_operation_has_none(session: Any) -> None:
    with pytest.raises(OpError) as caught:
        raise InvalidArgumentError("said")
    assert (caught.value.op, caught.value.node_def) == (None, None)
