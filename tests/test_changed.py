"""``scripts/test --changed``: which tests are close to a change."""

from __future__ import annotations

import grimp
import pytest

from scripts.changed import ALWAYS, find_tests


@pytest.fixture
def graph() -> grimp.ImportGraph:
    """A part of the project's own graph, each module before those that it imports."""
    made = grimp.ImportGraph()
    for importer, imported in [
        ("tests.plan.test_partition", "actorsession.plan.partition"),
        ("tests.cluster.test_worker", "actorsession.cluster.worker.worker"),
        ("tests.runtime.kit", "actorsession.plan.partition"),
        ("actorsession.plan.execution_state", "actorsession.plan.partition"),
        ("tests.plan.test_execution_state", "actorsession.plan.execution_state"),
        ("actorsession.cluster.worker.worker", "actorsession.plan.partition"),
    ]:
        made.add_import(importer=importer, imported=imported)
    return made


def close(graph: grimp.ImportGraph, *paths: str) -> list[str]:
    return [path for path in find_tests(paths, graph)[0] if path not in ALWAYS]


def test_tests_that_import_a_module_or_its_importers_in_the_room_are_close(graph: grimp.ImportGraph) -> None:
    found, others = find_tests(["actorsession/plan/partition.py"], graph)
    assert found == [*ALWAYS, "tests/plan/test_partition.py", "tests/plan/test_execution_state.py"]
    assert others == 1  # the worker's


def test_a_changed_test_is_close_and_a_kit_is_followed(graph: grimp.ImportGraph) -> None:
    assert close(graph, "tests/plan/test_partition.py") == ["tests/plan/test_partition.py"]
    graph.add_import(importer="tests.runtime.test_executor", imported="tests.runtime.kit")
    assert close(graph, "tests/runtime/kit.py") == ["tests/runtime/test_executor.py"]


def test_tests_with_the_name_or_in_the_folder_of_a_module_are_close(graph: grimp.ImportGraph) -> None:
    assert "tests/cluster/test_worker.py" in close(graph, "actorsession/cluster/worker/worker.py")
    graph.add_module("actorsession.namespaces.sets")
    graph.add_module("actorsession.ops.elements.division")
    found = close(graph, "actorsession/ops/elements/division.py")
    assert "tests/ops/elements/test_uses.py" in found
    assert "tests/ops/test_table.py" in found


def test_what_is_no_python_has_tests_by_its_place(graph: grimp.ImportGraph) -> None:
    assert "tests/test_docs.py" in close(graph, "docs/sessions.md")
    assert "tests/ops/test_raw.py" in close(graph, "actorsession/graph/op_signatures.txt")
    assert close(graph, "LICENSE") == []
