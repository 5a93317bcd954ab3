"""Settings: TensorFlow's names, checked values, and the journey to a master and back."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.config import (
    ConfigProto,
    NodeStats,
    RunMetadata,
    RunOptions,
    StepStats,
    TraceLevel,
    TransferStats,
)
from actorsession.errors import InvalidArgumentError

# -- ConfigProto -----------------------------------------------------------------------------------


def test_a_new_configuration_asks_for_nothing_special() -> None:
    config = ConfigProto()
    assert config.device_count == {}
    assert not config.allow_soft_placement
    assert not config.log_device_placement
    assert not config.isolate_session_state
    assert config.operation_timeout is None


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="cpu_options"):
        ConfigProto(cpu_options=None)  # type: ignore[call-arg]


def test_a_configuration_does_not_change() -> None:
    config = ConfigProto()
    with pytest.raises(FrozenInstanceError):
        config.plan_cache_size = 3  # type: ignore[misc]


def test_the_operation_timeout_is_given_in_seconds() -> None:
    assert ConfigProto(operation_timeout_in_ms=1500).operation_timeout == 1.5


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("device_count", {"CPU": -1}, r"device_count\['CPU'\] is at least 0, got -1"),
        ("operation_timeout_in_ms", -1, "operation_timeout_in_ms is at least 0, got -1"),
        ("plan_cache_size", 0, "plan_cache_size is at least 1, got 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        ConfigProto(**{field: value})


configs = st.builds(
    ConfigProto,
    device_count=st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3),
    inter_op_parallelism_threads=st.integers(-1, 8),
    allow_soft_placement=st.booleans(),
    log_device_placement=st.booleans(),
    operation_timeout_in_ms=st.integers(0, 10**6),
    isolate_session_state=st.booleans(),
    plan_cache_size=st.integers(1, 1000),
)


@given(configs)
def test_a_configuration_comes_back_as_it_was_sent(config: ConfigProto) -> None:
    assert ConfigProto.from_wire(config.to_wire()) == config


def test_the_wire_form_is_made_of_plain_values_that_nobody_else_holds() -> None:
    counts = {"CPU": 2}
    wire = ConfigProto(device_count=MappingProxyType(counts)).to_wire()
    assert type(wire["device_count"]) is dict
    wire["device_count"]["CPU"] = 5
    assert counts == {"CPU": 2}


def test_fields_left_out_on_the_wire_take_their_defaults() -> None:
    assert ConfigProto.from_wire({}) == ConfigProto()


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ({"future_field": 1}, r"no field \['future_field'\]; it has \['allow_soft"),
        ({3: 1}, r"no field \['3'\]"),
        ({"plan_cache_size": 0}, "at least 1"),
        ({"plan_cache_size": "many"}, "bad ConfigProto"),
        ({"device_count": [1]}, "bad ConfigProto"),
        ({"device_count": {"CPU": "two"}}, "bad ConfigProto"),
        (None, "is a map"),
        ([], "is a map"),
        ("text", "is a map"),
    ],
)
def test_a_bad_configuration_from_a_peer_is_an_invalid_argument(wire: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        ConfigProto.from_wire(wire)


# -- RunOptions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "traced"),
    [
        (TraceLevel.NO_TRACE, False),
        (TraceLevel.SOFTWARE_TRACE, True),
        (TraceLevel.HARDWARE_TRACE, True),
        (TraceLevel.FULL_TRACE, True),
    ],
)
def test_any_level_above_none_traces(level: TraceLevel, traced: bool) -> None:
    assert RunOptions(trace_level=level).traced is traced


def test_trace_levels_have_tensorflows_numbers() -> None:
    assert [level.value for level in TraceLevel] == [0, 1, 2, 3]


def test_a_timeout_is_not_negative() -> None:
    with pytest.raises(InvalidArgumentError, match="timeout_in_ms is at least 0, got -5"):
        RunOptions(timeout_in_ms=-5)


@given(
    st.builds(
        RunOptions,
        trace_level=st.sampled_from(TraceLevel),
        timeout_in_ms=st.integers(0, 10**6),
        output_partition_graphs=st.booleans(),
    )
)
def test_run_options_come_back_as_they_were_sent(options: RunOptions) -> None:
    wire = options.to_wire()
    assert type(wire["trace_level"]) is int
    back = RunOptions.from_wire(wire)
    assert back == options
    assert type(back.trace_level) is TraceLevel


@pytest.mark.parametrize(
    "wire",
    [{"trace_level": 9}, {"trace_level": "full"}, {"timeout_in_ms": -1}, {"other": 1}, None, [1]],
)
def test_bad_run_options_from_a_peer_are_an_invalid_argument(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        RunOptions.from_wire(wire)


# -- what a run reports ----------------------------------------------------------------------------

NODE = NodeStats("/cpu:0", "add", "AddV2", 1.0, 2.0, "main", 8)
SENT = TransferStats("send", "key", "/cpu:0", 1.5, 8)
GOT = TransferStats("recv", "key", "/cpu:1", 1.6, 8)


def test_step_statistics_come_back_as_they_were_sent() -> None:
    stats = StepStats(7, [NODE], [SENT, GOT])
    assert StepStats.from_wire(stats.to_wire()) == stats


def test_statistics_of_two_processes_are_put_together() -> None:
    stats = StepStats(7, [NODE], [SENT])
    stats.merge(StepStats(7, [NODE], [GOT]))
    assert stats == StepStats(7, [NODE, NODE], [SENT, GOT])


@pytest.mark.parametrize("wire", [None, 3, [], [1, [[1]], []], [1, [], [["send"]]], [1, 2, 3]])
def test_bad_statistics_from_a_peer_are_an_invalid_argument(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="bad step statistics"):
        StepStats.from_wire(wire)


def test_metadata_is_cleared_before_it_is_filled_again() -> None:
    metadata = RunMetadata(StepStats(1), {"/cpu:0": object()})
    kept = metadata.partition_graphs
    metadata.clear()
    assert metadata == RunMetadata()
    assert kept, "what the caller took from it earlier stays as it was"
