"""Device names: what may be written, what it means, and how two of them go together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import DeviceSpec
from actorsession.errors import ProtocolError
from actorsession.extend import DeviceAttributes
from actorsession.graph.device import LOCAL_TASK, task_name
from tests.rows import for_each

SPELLINGS = ["/cpu:0", "cpu:0", "/CPU:0", "/Cpu:0", "/device:CPU:0", "/device:cpu:0", "/device:CPU:00"]
FULL = "/job:worker/replica:0/task:1/device:CPU:0"

number = st.none() | st.integers(0, 99)
specs = st.builds(
    DeviceSpec,
    job=st.none() | st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True),
    replica=number,
    task=number,
    device_type=st.none() | st.sampled_from(["CPU", "GPU", "XLA_CPU"]),
    device_index=number,
)


# -- reading ---------------------------------------------------------------------------------------


@for_each(
    "text, canonical",
    [
        ("", ""),
        ("/", ""),
        (FULL, FULL),
        ("job:a/task:3", "/job:a/task:3"),
        ("/task:3/job:a", "/job:a/task:3"),
        ("/job:a_b2", "/job:a_b2"),
        ("/cpu", "/device:CPU:*"),
        ("/gpu:*", "/device:GPU:*"),
        ("/tpu:1", "/device:TPU:1"),
        ("/device:GPU", "/device:GPU:*"),
        ("/device:XLA_CPU:1", "/device:XLA_CPU:1"),
        ("/device:*:1", "/device:*:1"),
        ("/device:*:*", ""),
        ("/job:*/replica:*/task:*", ""),
        ("/job:a/", "/job:a"),
        *(
            (text, "/device:CPU:0")
            for text in ["/cpu:0", "cpu:0", "/CPU:0", "/Cpu:0", "/device:cpu:0", "/device:CPU:00"]
        ),
    ],
)
def test_a_name_is_read_and_written_in_canonical_form(text: str, canonical: str) -> None:
    assert str(DeviceSpec.parse(text)) == canonical


@given(specs)
def test_every_spec_is_read_back_from_its_own_text(spec: DeviceSpec) -> None:
    assert DeviceSpec.parse(str(spec)) == spec


@for_each(
    "text",
    ["bad", "/job:", "/job:1a", "/job:a-b", "/task:x", "/task:-1", "/task:", "/replica:one",
     "/device:CPU:-1", "/device:", "/device", "/Device:CPU:0", "/JOB:a", "/cpu:0 ", "/cpu:0\n",
     "/job:a//task:1", "cpu:0/extra", "/task:\u0661", "/cpux:0", "/device:CPU:0:0"],
)  # fmt: skip
def test_a_malformed_name_is_refused_with_the_part_and_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*a full name is /job:NAME"):
        DeviceSpec.parse(text)


@pytest.mark.parametrize("text", ["/job:a/job:b", "/cpu:0/gpu:1", "/task:1/task:1"])
def test_a_part_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="twice"):
        DeviceSpec.parse(text)


@given(st.text(alphabet="/:*jobtaskdevicepugCPU019 _-", max_size=30))
def test_any_text_is_a_name_or_a_value_error(text: str) -> None:
    try:
        spec = DeviceSpec.parse(text)
    except ValueError:
        return
    assert DeviceSpec.parse(str(spec)) == spec


# -- putting together ------------------------------------------------------------------------------


@for_each(
    "outer, inner, merged",
    [
        ("/job:a", "/task:2", "/job:a/task:2"),
        ("/job:a/cpu:0", "/job:b", "/job:b/device:CPU:0"),
        ("/gpu:1", "/device:CPU:*", "/device:CPU:1"),
        ("/gpu:1", "", "/device:GPU:1"),
        ("", "/gpu:1", "/device:GPU:1"),
    ],
)
def test_inner_parts_win_and_the_rest_stays(outer: str, inner: str, merged: str) -> None:
    a, b = DeviceSpec.parse(outer), DeviceSpec.parse(inner)
    assert str(a.merge(b)) == merged
    assert b.fill(a) == a.merge(b)


@given(specs, specs, specs)
def test_merging_is_associative_and_empty_names_change_nothing(a: DeviceSpec, b: DeviceSpec, c: DeviceSpec) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(DeviceSpec()) == DeviceSpec().merge(a) == a.merge(a) == a


@given(specs, specs)
def test_compatible_specs_merge_to_the_same_in_either_order(a: DeviceSpec, b: DeviceSpec) -> None:
    assert a.compatible(b) is b.compatible(a)
    assert a.compatible(b) is (a.merge(b) == b.merge(a))


@given(specs, specs)
def test_a_merged_name_asks_for_all_that_the_inner_one_asks_for(a: DeviceSpec, b: DeviceSpec) -> None:
    assert b.matches(a.merge(b))


def test_matching_means_that_every_named_part_is_the_same() -> None:
    full = DeviceSpec.parse(FULL)
    for text in ("", FULL, "/job:worker", "/task:1/cpu:0", "/device:CPU:*"):
        assert DeviceSpec.parse(text).matches(full)
    for text in ("/job:ps", "/cpu:1", "/gpu:0", "/task:0"):
        assert not DeviceSpec.parse(text).matches(full)
    assert DeviceSpec.parse(FULL).is_full
    parts = FULL.strip("/").split("/")
    for part in parts:
        assert not DeviceSpec.parse("/".join(p for p in parts if p != part)).is_full
    assert str(DeviceSpec.parse(FULL).task_spec) == "/job:worker/replica:0/task:1"
    assert task_name("worker", 1) == "/job:worker/replica:0/task:1"
    assert DeviceSpec.parse(LOCAL_TASK).job == "localhost"


ATTRIBUTES = DeviceAttributes(name=FULL, device_type="CPU", incarnation=2**63 + 5, memory_limit=9)


def test_attributes_know_the_devices_task_and_spec() -> None:
    assert ATTRIBUTES.task == "/job:worker/replica:0/task:1"
    assert ATTRIBUTES.spec == DeviceSpec("worker", 0, 1, "CPU", 0)
    assert DeviceAttributes.from_wire(ATTRIBUTES.to_wire()) == ATTRIBUTES
    assert DeviceSpec.from_string("/job:w/cpu:0").to_string() == "/job:w/device:CPU:0"


@for_each("wire", [None, [], "CPU", [FULL, "CPU", 1], [FULL, "CPU", "1", 0], [1, "CPU", 1, 0], {}])
def test_anything_else_is_a_protocol_error(wire: Any) -> None:
    with pytest.raises(ProtocolError, match="device attributes are"):
        DeviceAttributes.from_wire(wire)
