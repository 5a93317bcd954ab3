"""A fed array of the right type reaches the kernels as it is, in both faces, by runs and by callables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, Graph, get_default_graph, ops
from actorsession.extend import NOT_DIFFERENTIABLE, OpDef, registered_ops
from actorsession.extend import register_op as register
from tests.nodes import make_one

# What ``TestReference`` was given, by reference.
_SEEN: list[Any] = []


def _see(value: Any) -> Any:
    _SEEN.append(value)
    return np.float32(0)


if "TestReference" not in registered_ops():
    register(
        OpDef(
            name="TestReference",
            infer=lambda ctx: [ops.constant(0.0, graph=Graph()).spec],
            kernel=lambda ctx: _see,
            gradient=NOT_DIFFERENTIABLE,
            stateful=True,
            cost=lambda inputs, outputs: 1.0,
        )
    )


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    yield _SEEN
    _SEEN.clear()


@pytest.mark.parametrize("way", ["run", "callable"])
async def test_a_kernel_gets_the_memory_that_was_fed(session: Any, seen: list[Any], way: str) -> None:
    x = ops.placeholder("float32", [3])
    fetch = make_one("TestReference", [x])
    fed = np.arange(3, dtype=np.float32)
    call = session.callable(fetch, [x])
    await (session.run(fetch, {x: fed}) if way == "run" else call(fed))
    assert len(seen) == 1
    assert np.shares_memory(seen[0], fed)


async def test_an_inner_tensor_that_is_fed_is_passed_by_reference_too(session: Any, seen: list[Any]) -> None:
    inner = ops.placeholder("float32", [3]) * 2.0
    fed = np.arange(3, dtype=np.float32)
    await session.run(make_one("TestReference", [inner]), {inner: fed})
    assert np.shares_memory(seen[0], fed)


async def test_what_has_another_type_is_converted_once_and_not_the_callers_array(session: Any, seen: list[Any]) -> None:
    x = ops.placeholder("float32", [3])
    fed = np.arange(3)
    await session.run(make_one("TestReference", [x]), {x: fed})
    assert not np.shares_memory(seen[0], fed)
    np.testing.assert_array_equal(fed, [0, 1, 2])


async def test_between_two_devices_of_a_synchronous_step_it_is_the_fed_memory_still(
    make_session: Any, seen: list[Any]
) -> None:
    """An asynchronous step may be suspended between two devices, and so keeps a copy."""
    face = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [3])
    with get_default_graph().device("/cpu:1"):
        fetch = make_one("TestReference", [x])
    fed = np.arange(3, dtype=np.float32)
    await face.run([fetch, x * 1.0], {x: fed})
    assert np.shares_memory(seen[0], fed) == (face.name == "Session")
