"""The order of a step's collectives, where the settings ask for one."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession.ops import raw
from tests.plan.kit import Made

SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id"}


def collectives_of(metadata: acts.RunMetadata) -> list[Any]:
    graphs = metadata.partition_graphs
    assert graphs is not None
    nodes = [node for graph in graphs for node in graph.nodes]
    return [node for node in nodes if node.op == "CollectiveReduceV2"]


@pytest.mark.parametrize("ordered", [True, False])
def test_collectives_of_a_device_run_in_the_order_of_building_if_asked_to(*, ordered: bool) -> None:
    experimental = acts.config.Experimental(collective_deterministic_sequential_execution=ordered)
    with acts.Graph().as_default() as graph:
        group = acts.collective.Group(1)
        x = acts.placeholder("float32", [])
        sums = [acts.collective.all_reduce(x * float(i), group) for i in range(3)]
    config = acts.ConfigProto(experimental=experimental)
    options, metadata = acts.RunOptions(output_partition_graphs=True), acts.RunMetadata()
    with acts.Session(graph=graph, config=config) as session:
        found = session.run(sums[::-1], {x: 2.0}, options=options, run_metadata=metadata)
    assert found == [4.0, 2.0, 0.0]
    nodes = collectives_of(metadata)
    assert len(nodes) == 3
    names = [node.name for node in nodes]
    after = [[name for name in node.control_inputs if name in names] for node in nodes]
    assert after == ([[], names[:1], names[1:2]] if ordered else [[], [], []])


def test_a_value_is_copied_for_a_collective_only_if_the_caller_may_write_to_it() -> None:
    """The values of a collective go round after its node has run."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder("float32", [3])
        made, fetched = x * 2.0, x * 3.0
        sums = [raw.CollectiveReduceV2(v, 1, 1, i, [], **SUM) for i, v in enumerate([x, made, fetched])]
        read_again = made + 1.0
        code = Made(graph, [*sums, fetched, read_again], [x]).linked[0].compiled.segments[0].lines
    assert ["own(" in line for line in code if "C.begin" in line] == [True, False, True]
