"""The cluster that a Slurm job's environment describes; real jobs are in tests/engines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from actorsession import ClusterResolver, ClusterSpec
from actorsession.cluster import SlurmClusterResolver

STEP = {
    "SLURM_STEP_NODELIST": "n[1-2],big",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2),2",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_PROCID": "2",
}


def within(monkeypatch: Any, variables: Mapping[str, str | None]) -> None:
    """Gives this process the environment of a Slurm job."""
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        if value is not None:
            monkeypatch.setenv(name, value)


def test_the_ranks_are_split_among_the_jobs_in_order(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    resolver = SlurmClusterResolver({"ps": 1, "worker": 3})
    assert isinstance(resolver, ClusterResolver)
    spec = {"ps": ["n1:8888"], "worker": ["n2:8888", "big:8888", "big:8889"]}
    assert resolver.cluster_spec() == ClusterSpec(spec)
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "big:8888"
    assert resolver.master("worker", 0, "tls") == "tls://n2:8888"


def test_without_jobs_all_ranks_are_workers(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    resolver = SlurmClusterResolver(port_base=7000)
    hosts = ["n1:7000", "n2:7000", "big:7000", "big:7001"]
    assert resolver.cluster_spec() == ClusterSpec({"worker": hosts})
    assert resolver.task_id == 2
    assert SlurmClusterResolver(task_type="worker", task_id=0).task_id == 0


def test_the_batch_script_sees_the_cluster_of_its_job(monkeypatch: Any) -> None:
    within(monkeypatch, {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NTASKS": "4"})
    resolver = SlurmClusterResolver({"ps": 2, "worker": 2})
    assert resolver.cluster_spec().task_address("worker", 1) == "n2:8889"
    assert (resolver.task_type, resolver.task_id) == (None, None)


# Rank by rank the nodes on which a real ``srun -N2 -n5`` has placed them.
@pytest.mark.parametrize(
    ("kind", "plane", "counts", "nodes"),
    [
        (None, None, "4,1", "00001"),
        ("block", None, "4,1", "00001"),
        ("block,pack", None, "4,1", "00001"),
        ("cyclic", None, "4,1", "01000"),
        ("cyclic:block", None, "3,2", "01010"),
        ("plane", "2", "4,1", "00100"),
        ("plane", "1", "3,2", "01010"),
    ],
)
def test_ranks_are_on_the_nodes_of_their_distribution(
    monkeypatch: Any, kind: str | None, plane: str | None, counts: str, nodes: str
) -> None:
    within(
        monkeypatch,
        {
            "SLURM_STEP_NODELIST": "n[0-1]",
            "SLURM_STEP_TASKS_PER_NODE": counts,
            "SLURM_DISTRIBUTION": kind,
            "SLURM_DIST_PLANESIZE": plane,
        },
    )
    addresses = SlurmClusterResolver().cluster_spec().job_tasks("worker")
    assert "".join(str(address)[1] for address in addresses) == nodes
    assert len(set(addresses)) == 5


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (
            {"SLURM_STEP_NODELIST": None},
            "SLURM_STEP_NODELIST or SLURM_JOB_NODELIST or SLURM_NODELIST is not set, .* names such as n",
        ),
        ({"SLURM_STEP_NODELIST": "n[2-1]"}, r"SLURM_STEP_NODELIST is 'n\[2-1\]': the range .*; valid is names"),
        ({"SLURM_STEP_TASKS_PER_NODE": None}, "SLURM_TASKS_PER_NODE is not set"),
        ({"SLURM_STEP_TASKS_PER_NODE": "two"}, "SLURM_STEP_TASKS_PER_NODE is 'two': .* valid is"),
        (
            {"SLURM_STEP_TASKS_PER_NODE": "4"},
            r"SLURM_STEP_TASKS_PER_NODE is '4', which is 1 nodes, and SLURM_STEP_NODELIST is n\[1-2\],big, "
            "which is 3",
        ),
        (
            {"SLURM_STEP_NUM_TASKS": "5"},
            r"SLURM_STEP_NUM_TASKS is 5, and SLURM_STEP_TASKS_PER_NODE is 1\(x2\),2, which is 4 tasks",
        ),
        ({"SLURM_STEP_NUM_TASKS": "many"}, "SLURM_STEP_NUM_TASKS is 'many': .*such as 8"),
        ({"SLURM_PROCID": "4"}, "SLURM_PROCID is 4, and the ranks are 0 to 3"),
        ({"SLURM_PROCID": "-1"}, "SLURM_PROCID is '-1': .* valid is the rank"),
        ({"SLURM_DISTRIBUTION": "arbitrary"}, "SLURM_DISTRIBUTION is 'arbitrary'; valid is block"),
        ({"SLURM_DISTRIBUTION": "plane"}, "SLURM_DIST_PLANESIZE is not set"),
    ],
)
def test_a_variable_that_is_wrong_is_named_with_its_value(
    monkeypatch: Any, changed: Mapping[str, str | None], complaint: str
) -> None:
    within(monkeypatch, {**STEP, **changed})
    with pytest.raises(ValueError, match=complaint):
        SlurmClusterResolver().cluster_spec()


def test_jobs_of_another_size_say_what_to_ask_slurm_for(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    with pytest.raises(ValueError, match="have 8 tasks, and Slurm has started 4; ask for --ntasks 8"):
        SlurmClusterResolver({"ps": 1, "worker": 7}).cluster_spec()


@pytest.mark.parametrize("jobs", [{}, {"worker": 0}, {"ps": -1, "worker": 2}])
def test_a_cluster_has_a_task(jobs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one task"):
        SlurmClusterResolver(jobs)


def test_ports_exist(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    with pytest.raises(ValueError, match="port_base is a port from 1 to 65535, got 0"):
        SlurmClusterResolver(port_base=0)
    with pytest.raises(ValueError, match="port_base is 65535, and a node has 2 tasks"):
        SlurmClusterResolver(port_base=65535).cluster_spec()
