"""Random programs of reads and writes of reference variables give one result wherever their parts are.

The result is that of one process with one device, on two devices and over two tasks, in whatever order things
are fetched, and nothing waits for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import AsyncSession, ConfigProto
from tests.cluster.kit import PS0, W0, in_process, soon
from tests.loops import run_to_end
from tests.plan.reference_programs import Place, Program, X, same

LEAVES = st.sampled_from(["a", "b", "x", "a", "b", "c(0.5)"])
UNARY = st.sampled_from(["tanh", "sin", "square"])
BINARY = st.sampled_from(["add", "mul", "maximum"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.builds("{}({})".format, UNARY, inner) | st.builds("{}({}, {})".format, BINARY, inner, inner),
    max_leaves=6,
)
WRITERS = st.builds("{}.assign{}({})".format, st.sampled_from("ab"), st.sampled_from(["", "_add", "_sub"]), VALUES)
STATEMENTS = st.lists(WRITERS | WRITERS | VALUES | st.builds("train({})".format, VALUES), min_size=2, max_size=5)
DEVICES = ("/cpu:0", "/cpu:1")
TASKS = (PS0, W0)


def placed(names: Sequence[str], places: Sequence[int]) -> Place:
    return lambda index: acts.device(names[places[index % len(places)]])


async def results(
    program: Program, order: Sequence[int], target: str = "", config: ConfigProto | None = None
) -> list[Any]:
    async with AsyncSession(target, graph=program.graph, config=config) as session:
        await soon(session.run(program.start))
        fetches = [program.fetches[index] for index in order]
        found = await soon(session.run(fetches, {program.x: X}))
        by_statement = dict(zip(order, found, strict=True))
        ends = await soon(session.run(program.ends))
        return [*[by_statement[index] for index in sorted(order)], *ends]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements=STATEMENTS, places=st.lists(st.integers(0, 1), min_size=2, max_size=7), data=st.data())
def test_a_program_gives_the_same_on_one_device_on_two_and_over_tasks(
    statements: list[str], places: list[int], data: st.DataObject
) -> None:
    values = [[0.5, -1.2], [1.1, 0.3]]
    orders = st.permutations(range(len(statements)))
    two = ConfigProto(device_count={"CPU": 2})

    async def run() -> None:
        wanted = await results(Program(values, statements), range(len(statements)))
        there = Program(values, statements, placed(DEVICES, places))
        assert same(await results(there, data.draw(orders), config=two), wanted)
        async with in_process({"ps": 1, "worker": 1}) as cluster:
            far = Program(values, statements, placed(TASKS, places))
            assert same(await results(far, data.draw(orders), cluster.target()), wanted)

    run_to_end(run())
