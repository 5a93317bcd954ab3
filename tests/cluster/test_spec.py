"""``ClusterSpec``."""

from __future__ import annotations

import json
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import ClusterSpec
from actorsession.cluster import ClusterDef, JobDef
from actorsession.cluster.spec import full_address

DENSE = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
SPARSE = {"worker": {5: "f:5", 2: "e:2"}}


def test_a_dense_job_is_a_list_of_addresses() -> None:
    spec = ClusterSpec(DENSE)
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [0, 1]
    assert spec.task_address("worker", 1) == "b:2"
    assert spec.job_tasks("worker") == ["a:1", "b:2"]
    assert spec.as_dict() == {"ps": ["c:3"], "worker": ["a:1", "b:2"]}


def test_jobs_come_in_the_order_in_which_they_were_given() -> None:
    assert ClusterSpec(DENSE).jobs == list(ClusterSpec(DENSE).as_dict()) == ["worker", "ps"]


def test_a_sparse_job_has_holes() -> None:
    spec = ClusterSpec(SPARSE)
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [2, 5]
    assert spec.job_tasks("worker") == [None, None, "e:2", None, None, "f:5"]
    assert spec.as_dict() == {"worker": {2: "e:2", 5: "f:5"}}


@pytest.mark.parametrize("tasks", [{0: "a:1", 1: "b:2"}, {"0": "a:1", "1": "b:2"}])
def test_a_dict_without_holes_is_a_dense_job(tasks: Any) -> None:
    assert ClusterSpec({"worker": tasks}).as_dict() == {"worker": ["a:1", "b:2"]}


@pytest.mark.parametrize("tasks", [[], {}])
def test_a_job_without_tasks_is_empty(tasks: Any) -> None:
    spec = ClusterSpec({"worker": tasks})
    assert spec.job_tasks("worker") == []
    assert spec.num_tasks("worker") == 0
    assert spec.tasks() == {}
    assert spec.as_dict() == {"worker": {}}
    assert spec


def test_tasks_are_named_in_full_with_full_addresses_sorted() -> None:
    spec = ClusterSpec({"worker": {1: "unix:///run/w"}, "ps": ["h:1"]})
    expected = {"/job:ps/replica:0/task:0": "tcp://h:1", "/job:worker/replica:0/task:1": "unix:///run/w"}
    assert list(spec.tasks().items()) == list(expected.items())
    assert spec.tasks("tls")["/job:ps/replica:0/task:0"] == "tls://h:1"


def test_an_address_without_a_scheme_is_tcp() -> None:
    assert full_address("h:1") == "tcp://h:1"
    assert full_address("h:1", "tls") == "tls://h:1"
    assert full_address("inproc://x") == "inproc://x"


def test_specs_are_values() -> None:
    spec = ClusterSpec(DENSE)
    assert spec == ClusterSpec(spec) == ClusterSpec({"ps": {0: "c:3"}, "worker": ("a:1", "b:2")})
    assert hash(spec) == hash(ClusterSpec(dict(reversed(DENSE.items()))))
    assert spec != ClusterSpec(SPARSE)
    assert bool(spec)
    assert not ClusterSpec({})
    assert repr(spec) == "ClusterSpec({'ps': ['c:3'], 'worker': ['a:1', 'b:2']})"


def test_a_spec_is_equal_to_the_dict_of_its_tasks_by_number() -> None:
    assert ClusterSpec(DENSE) == {"worker": {0: "a:1", 1: "b:2"}, "ps": {0: "c:3"}}
    assert ClusterSpec(DENSE) != DENSE
    assert ClusterSpec(DENSE) != "worker"


def test_a_cluster_def_has_jobs_and_tasks_sorted() -> None:
    expected = ClusterDef((JobDef("ps", {0: "c:3"}), JobDef("worker", {0: "a:1", 1: "b:2"})))
    assert ClusterSpec(DENSE).as_cluster_def() == expected
    assert ClusterSpec(expected) == ClusterSpec(DENSE)
    assert ClusterSpec(ClusterDef()) == ClusterSpec({})


ADDRESSES = st.text("abc.:019", min_size=1, max_size=8)
JOBS = st.builds(str.__add__, st.sampled_from(ascii_letters), st.text(ascii_letters + digits + "_", max_size=8))
CLUSTERS = st.dictionaries(
    JOBS,
    st.one_of(st.lists(ADDRESSES, max_size=4), st.dictionaries(st.integers(0, 2**31 - 1), ADDRESSES, max_size=4)),
    max_size=4,
)


@given(CLUSTERS)
def test_every_form_of_a_spec_makes_the_same_spec_again(cluster: Any) -> None:
    spec = ClusterSpec(cluster)
    through_json = json.loads(json.dumps(spec.as_dict()))
    for form in (spec, spec.as_dict(), spec.as_cluster_def(), through_json):
        again = ClusterSpec(form)
        assert again == spec
        assert hash(again) == hash(spec)
        assert again.as_dict() == spec.as_dict()
        assert again.tasks() == spec.tasks()
    assert ClusterSpec(spec).jobs == spec.jobs


def test_bytes_are_text() -> None:
    assert ClusterSpec({b"ps": [b"c:3"]}) == ClusterSpec({"ps": ["c:3"]})  # type: ignore[dict-item]


def test_changing_what_a_spec_was_made_of_does_not_change_it() -> None:
    jobs = {"worker": ["a:1"]}
    spec = ClusterSpec(jobs)
    jobs["worker"].append("b:2")
    spec.as_dict()["worker"] = []
    assert spec.num_tasks("worker") == 1


@pytest.mark.parametrize("ask", ["num_tasks", "task_indices", "job_tasks"])
def test_an_unknown_job_is_named_with_those_that_exist(ask: str) -> None:
    with pytest.raises(ValueError, match=r"no job 'chief' in the cluster; it has \['ps', 'worker'\]"):
        getattr(ClusterSpec(DENSE), ask)("chief")


@pytest.mark.parametrize("index", [3, "2", None])
def test_an_unknown_task_is_named_with_those_that_exist(index: Any) -> None:
    with pytest.raises(ValueError, match=rf"no task {index} in job 'worker'; it has \[2, 5\]"):
        ClusterSpec(SPARSE).task_address("worker", index)


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        "worker",
        ["a:1"],
        {1: ["a:1"]},
        {"worker": "a:1"},
        {"worker": 5},
        {"worker": [5]},
        {"worker": [None]},
        {"worker": {True: "a:1"}},
        {"worker": {0: None}},
        {"worker": {1.5: "a:1"}},
    ],
)
def test_other_forms_are_type_errors(malformed: Any) -> None:
    with pytest.raises(TypeError):
        ClusterSpec(malformed)


@pytest.mark.parametrize(
    "malformed",
    [
        {"w/x": []},
        {"": []},
        {"1": []},
        {"wörker": []},
        {"worker": {-1: "a:1"}},
        {"worker": {2**31: "a:1"}},
        {"worker": {"first": "a:1"}},
        {"worker": {0: "a:1", "0": "b:1"}},
    ],
)
def test_names_and_numbers_that_no_device_could_have_are_value_errors(malformed: Any) -> None:
    with pytest.raises(ValueError, match="job"):
        ClusterSpec(malformed)
