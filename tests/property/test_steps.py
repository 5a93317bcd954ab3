"""Random graphs do the same in every kind of session: values, errors, effects.

In a session of this process, on one worker, on two, with a master in this process, and as partial runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession import AsyncSession, Graph, LocalCluster, Tensor, ops
from actorsession.errors import OpError
from actorsession.testing.strategies import Recipe, graphs
from tests.cluster.kit import in_process
from tests.default_device import of_the_cpu_alone
from tests.loops import run_to_end
from tests.property.conftest import TASKS

# At least two of them succeed: the first of these brings the plan along, and the next one needs it not.
RUNS = 4


@dataclass(frozen=True)
class Checks:
    """Nodes of a graph that fail in some of its runs, and variables that its runs change.

    Attributes:
        failing: for each node that fails, the value after which it runs, its place, and the run in which it
            fails.
        counted: for each variable, the value whose sum is added to it, and its place.
    """

    failing: tuple[tuple[int, int, int], ...]
    counted: tuple[tuple[int, int], ...]


_NUMBERS, _PLACES = st.integers(0, 99), st.integers(0, 2)
checks = st.builds(
    Checks,
    # One node at most in each run: which of several is told of is a matter of time.
    st.lists(st.tuples(_NUMBERS, _PLACES, st.integers(0, RUNS - 1)), max_size=2, unique_by=lambda node: node[2]).map(
        tuple
    ),
    st.lists(st.tuples(_NUMBERS, _PLACES), max_size=2).map(tuple),
)


class Model:
    """A recipe as a graph, with nodes that fail and variables."""

    def __init__(self, recipe: Recipe, checks: Checks, places: Sequence[str | None]) -> None:
        self.graph = Graph()
        self.checks = checks
        self.places = places
        self.placeholders, self.values = recipe.build(self.graph, self.place)
        with self.graph.as_default():
            self.divisors = [ops.placeholder("int32", [], name="d") for _ in checks.failing]
            self.checked = [self._failing(*node) for node in zip(self.divisors, checks.failing, strict=True)]
            self.variables = [self._counted(n, *node) for n, node in enumerate(checks.counted)]
            self.reset = ops.group(*[variable.initializer for variable, _ in self.variables])
        self.fetches = [*self.values, *self.checked, *[added for _, added in self.variables]]

    def place(self, number: int) -> AbstractContextManager[Any]:
        return self.graph.device(self.places[number % len(self.places)])

    def _value(self, number: int) -> Tensor:
        return self.values[number % len(self.values)]

    def _failing(self, divisor: Tensor, node: tuple[int, int, int]) -> Tensor:
        number, place, _ = node
        with self.place(place), self.graph.control_dependencies([self._value(number)]):
            return ops.floordiv(7, divisor)

    def _counted(self, index: int, number: int, place: int) -> tuple[Any, Tensor]:
        with self.place(place):
            variable = ops.Variable(np.float32(0), name=f"v{index}")
            return variable, variable.assign_add(ops.reduce_mean(self._value(number)))

    def feeds(self, fed: list[Any], run: int) -> dict[Tensor, Any]:
        divisors = [int(run != failed) for _, _, failed in self.checks.failing]
        return dict(zip([*self.placeholders, *self.divisors], [*fed, *divisors], strict=True))


@dataclass(frozen=True)
class Kind:
    """A kind of session.

    Attributes:
        places: the devices of the three places of a recipe.
        partial: whether its runs are partial runs that are fed and fetched in one call.
    """

    places: tuple[str | None, ...]
    partial: bool = False


NEAR, FAR = "/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"
KINDS = {
    "local": Kind((None,)),
    "one worker": Kind((NEAR,)),
    "two workers": Kind(TASKS),
    "partial": Kind(TASKS, partial=True),
    "master in this process": Kind((NEAR, FAR)),
}


async def outcomes(model: Model, recipe: Recipe, target: str, kind: Kind) -> list[Any]:
    """What each of some runs of a new session gives, and what the variables are in the end."""
    fed = [np.ascontiguousarray(x) for x in recipe.fed()]
    found: list[Any] = []
    async with AsyncSession(target, graph=model.graph) as session:
        await session.run(model.reset)
        for run in range(RUNS):
            feeds = model.feeds(fed, run)
            try:
                found.append(await one_run(session, model.fetches, feeds, kind))
            except OpError as error:
                found.append(told(error))
                # How far the other nodes of a failed step have come is a matter of time.
                await session.run(model.reset)
        found.append(await session.run([variable for variable, _ in model.variables]))
    return found


async def one_run(session: AsyncSession, fetches: list[Tensor], feeds: dict[Tensor, Any], kind: Kind) -> Any:
    # A tensor is fetched once in a partial run, and not what is fed.
    asked = [f for f in dict.fromkeys(fetches) if f not in feeds]
    if not kind.partial or len(asked) < len(fetches):
        return await session.run(fetches, feeds)
    handle = await session.partial_run_setup(asked, list(feeds))
    return await session.partial_run(handle, asked, feeds)


def told(error: OpError) -> tuple[Any, ...]:
    """What an error says in every kind of session."""
    message = re.sub(r"step \d+", "step N", error.message)
    return type(error), message, error.node, error.source


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, tuple) or isinstance(other, tuple):
            assert one == other
            continue
        for a, b in zip(one, other, strict=True):
            assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
            np.testing.assert_array_equal(a, b)


@of_the_cpu_alone("its worker processes compute with numpy, whose last bits are others")
@pytest.mark.process
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(recipe=graphs(12), checks=checks)
def test_a_step_gives_the_same_in_every_kind_of_session(
    processes: LocalCluster, recipe: Recipe, checks: Checks
) -> None:
    async def of(name: str) -> list[Any]:
        kind = KINDS[name]
        model = Model(recipe, checks, kind.places)
        if name == "local":
            return await outcomes(model, recipe, "", kind)
        if name != "master in this process":
            return await outcomes(model, recipe, processes.target("worker", 0), kind)
        async with in_process() as cluster:
            return await outcomes(model, recipe, cluster.target(), kind)

    expected = run_to_end(of("local"))
    for name in list(KINDS)[1:]:
        assert_same(run_to_end(of(name)), expected)
