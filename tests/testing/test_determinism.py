"""A simulated run is a function of its seed, byte for byte, in another process with other hashes of strings."""

from __future__ import annotations

import gc
import logging
import weakref
from importlib import metadata
from typing import Any

import pytest

from actorsession import Graph, ops
from actorsession.testing import SimulatedCluster, on_host
from actorsession.version import installed_version
from tests.testing import random_clusters, random_programs
from tests.testing.seeds import differing


@pytest.mark.process
def test_traces_are_the_same_in_another_process() -> None:
    assert differing(30, 2) == []


def test_a_run_leaves_nothing_behind_in_the_process() -> None:
    """A server that crashes does not take its handler of logs back, and the handler knows its host."""
    handlers = list(logging.getLogger("actorsession").handlers)
    loops = []

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            cluster.task("worker", 0).crash()
            cluster.task("worker", 1).power_off()
            assert len(logging.getLogger("actorsession").handlers) == len(handlers) + 1  # that of the third task

    for seed in range(3):
        cluster = SimulatedCluster(seed)
        cluster.run(main)
        loops.append(weakref.ref(cluster.loop))
        del cluster
    assert logging.getLogger("actorsession").handlers == handlers
    gc.collect()
    assert [loop() for loop in loops] == [None] * 3


def test_a_run_does_not_depend_on_those_before_it() -> None:
    for module, count in ((random_programs, 10), (random_clusters, 2)):
        traces = [module.trace_of(seed) for seed in range(count)]
        assert [module.trace_of(seed) for seed in reversed(range(count))] == traces[::-1]


def test_a_run_does_not_depend_on_who_plays_it() -> None:
    """What a callback builds has no line of whoever started the loop, whose path may be longer elsewhere."""
    text = "digest = lambda seed: clusters.play(clusters.Story.draw(seed, 30))[0].digest"
    digests = set()
    for path in ("/here.py", "/a/folder/with/a/longer/name/than/that/one/in/which/somebody/plays.py"):
        namespace: dict[str, Any] = {"__name__": path, "clusters": random_clusters}
        exec(compile(text, path, "exec"), namespace)  # noqa: S102 - a text of this test
        digests.add(namespace["digest"](0))
    assert len(digests) == 1


def test_a_run_does_not_depend_on_the_version_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = []
    for version in ("1.0", "1.0.dev1234+g0123456789abcdef"):
        installed_version.cache_clear()
        monkeypatch.setattr(metadata, "version", lambda package, version=version: version)
        assert installed_version() == version
        traces.append(random_clusters.trace_of(0))
    installed_version.cache_clear()
    assert traces[0] == traces[1]


def test_a_line_of_the_program_leaves_a_simulated_host_without_its_folder(graph: Graph) -> None:
    node = ops.no_op().plain
    assert node.to_wire()[-1] == node.source
    assert node.source.startswith(f"{__file__}:")
    with on_host(SimulatedCluster(0).client):
        assert node.to_wire()[-1] == node.source.rpartition("/")[2]
