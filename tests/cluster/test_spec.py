"""``ClusterSpec``."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession.cluster import ClusterSpec
from actorsession.cluster.spec import full_address

DENSE = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
SPARSE = {"worker": {5: "f:5", 2: "e:2"}}


def test_a_dense_job_is_a_list_of_addresses() -> None:
    spec = ClusterSpec(DENSE)
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [0, 1]
    assert spec.task_address("worker", 1) == "b:2"
    assert spec.job_tasks("worker") == ["a:1", "b:2"]
    assert spec.as_dict() == {"ps": ["c:3"], "worker": ["a:1", "b:2"]}


def test_a_sparse_job_has_holes() -> None:
    spec = ClusterSpec(SPARSE)
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [2, 5]
    assert spec.job_tasks("worker") == [None, None, "e:2", None, None, "f:5"]
    assert spec.as_dict() == {"worker": {2: "e:2", 5: "f:5"}}


def test_a_job_without_tasks_is_empty() -> None:
    spec = ClusterSpec({"worker": []})
    assert spec.job_tasks("worker") == []
    assert spec.num_tasks("worker") == 0
    assert spec.tasks() == {}


def test_tasks_are_named_in_full_with_full_addresses() -> None:
    assert ClusterSpec({"worker": {1: "unix:///run/w"}, "ps": ["h:1"]}).tasks() == {
        "/job:ps/replica:0/task:0": "tcp://h:1",
        "/job:worker/replica:0/task:1": "unix:///run/w",
    }


def test_an_address_without_a_scheme_is_tcp() -> None:
    assert full_address("h:1") == "tcp://h:1"
    assert full_address("inproc://x") == "inproc://x"


def test_specs_are_values() -> None:
    spec = ClusterSpec(DENSE)
    assert spec == ClusterSpec(spec) == ClusterSpec({"ps": {0: "c:3"}, "worker": ("a:1", "b:2")})
    assert hash(spec) == hash(ClusterSpec(DENSE))
    assert spec != ClusterSpec(SPARSE)
    assert spec != DENSE
    assert bool(spec)
    assert not ClusterSpec({})
    assert repr(spec) == "ClusterSpec({'ps': ['c:3'], 'worker': ['a:1', 'b:2']})"


def test_changing_what_a_spec_was_made_of_does_not_change_it() -> None:
    jobs = {"worker": ["a:1"]}
    spec = ClusterSpec(jobs)
    jobs["worker"].append("b:2")
    spec.as_dict()["worker"] = []
    assert spec.num_tasks("worker") == 1


@pytest.mark.parametrize("ask", ["num_tasks", "task_indices", "job_tasks"])
def test_an_unknown_job_is_named_with_those_that_exist(ask: str) -> None:
    with pytest.raises(
        ValueError, match=r"no job 'chief' in the cluster; it has \['ps', 'worker'\]"
    ):
        getattr(ClusterSpec(DENSE), ask)("chief")


def test_an_unknown_task_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"no task 3 in job 'worker'; it has \[2, 5\]"):
        ClusterSpec(SPARSE).task_address("worker", 3)


@pytest.mark.parametrize(
    "malformed",
    [
        None, "worker", ["a:1"], {1: ["a:1"]}, {"worker": "a:1"}, {"worker": 5}, {"worker": [5]},
        {"worker": {"0": "a:1"}}, {"worker": {True: "a:1"}}, {"worker": {0: None}},
    ],
)  # fmt: skip
def test_other_forms_are_type_errors(malformed: Any) -> None:
    with pytest.raises(TypeError):
        ClusterSpec(malformed)


@pytest.mark.parametrize("malformed", [{"w/x": []}, {"": []}, {"1": []}, {"worker": {-1: "a:1"}}])
def test_names_that_no_device_could_have_are_value_errors(malformed: Any) -> None:
    with pytest.raises(ValueError, match="job"):
        ClusterSpec(malformed)
