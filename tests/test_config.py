"""Settings: TensorFlow's names, checked values, and the journey to a master and back."""

from __future__ import annotations

import logging
from dataclasses import FrozenInstanceError
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RPCOptions,
    RunMetadata,
    RunOptions,
    TraceLevel,
)
from actorsession.config import (
    DebugOptions,
    DebugTensorWatch,
    Experimental,
    JitLevel,
    NodeStats,
    OptLevel,
    SessionMetadata,
    StepStats,
    ThreadPoolOptionProto,
    TransferStats,
)
from actorsession.config.environment import environment_number, environment_switch
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each

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


def test_a_configuration_does_not_change_with_what_it_was_made_of() -> None:
    count, filters = {"CPU": 1}, ["/job:a"]
    config = ConfigProto(device_count=count, device_filters=filters)
    count["CPU"] = 9
    filters.append("/job:b")
    assert config.device_count == {"CPU": 1}
    assert config.device_filters == ("/job:a",)


def test_the_operation_timeout_is_given_in_seconds() -> None:
    assert ConfigProto(operation_timeout_in_ms=1500).operation_timeout == 1.5


@for_each(
    "field, value, said",
    [
        ("device_count", {"CPU": -1}, r"device_count\['CPU'\] must be at least 0, got -1"),
        ("operation_timeout_in_ms", -1, "operation_timeout_in_ms must be at least 0, got -1"),
        ("plan_cache_size", 0, "plan_cache_size must be at least 1, got 0"),
        ("partial_run_idle_limit_in_ms", 0, "partial_run_idle_limit_in_ms must be at least 1, got 0"),
        ("intra_op_parallelism_threads", -1, "intra_op_parallelism_threads must be at least 0, got -1"),
        ("device_filters", "/job:ps", "device_filters must be a list of device names, got '/job:ps'"),
        ("device_filters", [1], "device_filters must be a list of device names"),
        ("device_filters", 3, "device_filters must be a list of device names, got 3"),
        ("device_filters", None, "device_filters must be a list of device names, got None"),
        ("placement_period", -1, "placement_period must be at least 0, got -1"),
        ("intra_op_parallelism_threads", 2**31, "must be at most 2147483647, got 2147483648"),
        ("operation_timeout_in_ms", 2**70, "operation_timeout_in_ms must be a number of 64 bits, got one of 71"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        ConfigProto(**{field: value})


@for_each(
    "settings, field, value, said",
    [
        (ThreadPoolOptionProto, "num_threads", -1, "num_threads must be at least 0, got -1"),
        (GraphOptions, "build_cost_model", -1, "build_cost_model must be at least 0, got -1"),
        (GraphOptions, "build_cost_model_after", -2, "build_cost_model_after must be at least 0"),
        (GraphOptions, "timeline_step", -1, "timeline_step must be at least 0"),
        (OptimizerOptions, "max_folded_constant_in_bytes", -1, "max_folded_constant_in_bytes must be at least 0"),
        (OptimizerOptions, "opt_level", 3, "opt_level must be one of L1=0, L0=-1, got 3"),
        (
            OptimizerOptions,
            "global_jit_level",
            "x",
            "global_jit_level must be one of DEFAULT=0, OFF=-1, ON_1=1, ON_2=2, got 'x'",
        ),
    ],
)
def test_a_nested_value_that_makes_no_sense_is_refused(settings: Any, field: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        settings(**{field: value})


@for_each(
    "settings, field, value, said",
    [
        (GraphOptions, "enable_recv_scheduling", True, "no receive to schedule"),
        (GraphOptions, "rewrite_options", {"remapping": 1}, "no Grappler here"),
        (OptimizerOptions, "cpu_global_jit", True, "the kernels of the CPU are numpy's, which nothing compiles"),
        (Experimental, "use_tfrt", True, "this is the only runtime here"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_the_reason(settings: Any, field: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{field}=.* is refused: .*{said}"):
        settings(**{field: value})


@for_each(
    "settings, field, value",
    [
        (ConfigProto, "cluster_def", None),
        (GraphOptions, "enable_recv_scheduling", False),
        (GraphOptions, "rewrite_options", None),
        (OptimizerOptions, "global_jit_level", JitLevel.OFF),
        (OptimizerOptions, "cpu_global_jit", False),
        (Experimental, "use_tfrt", False),
    ],
)
def test_what_asks_for_nothing_is_accepted(settings: Any, field: str, value: Any) -> None:
    assert getattr(settings(**{field: value}), field) == value


@for_each(
    "settings, field, value, said",
    [
        (ConfigProto, "graph_options", {}, "graph_options must contain GraphOptions, got {}"),
        (ConfigProto, "experimental", None, "experimental must contain Experimental, got None"),
        (ConfigProto, "session_inter_op_thread_pool", [2], "must contain ThreadPoolOptionProto, got 2"),
        (
            ConfigProto,
            "session_inter_op_thread_pool",
            ThreadPoolOptionProto(),
            "session_inter_op_thread_pool must be a list of ThreadPoolOptionProto, got ThreadPool",
        ),
        (ConfigProto, "device_count", 3, "device_count must be a mapping from device type to number, got 3"),
        (ConfigProto, "device_count", {1: 2}, "the keys of device_count must be device types, such as 'CPU', got 1"),
        (ConfigProto, "device_count", {"CPU": "3"}, r"device_count\['CPU'\] must be of type int, got '3'"),
        (ConfigProto, "device_count", {"CPU": 2.5}, r"device_count\['CPU'\] must be of type int, got 2.5"),
        (ConfigProto, "device_count", {"CPU": True}, r"device_count\['CPU'\] must be of type int, got True"),
        (ConfigProto, "allow_soft_placement", "yes", "must be of type bool, got 'yes'"),
        (ConfigProto, "use_per_session_threads", 2, "must be of type bool, got 2"),
        (ConfigProto, "inter_op_parallelism_threads", "2", "must be of type int, got '2'"),
        (ConfigProto, "inter_op_parallelism_threads", True, "must be of type int, got True"),
        (ConfigProto, "operation_timeout_in_ms", 1.5, "must be of type int, got 1.5"),
        (GraphOptions, "optimizer_options", OptLevel.L1, "must contain OptimizerOptions"),
        (ThreadPoolOptionProto, "global_name", 3, "global_name must be of type str, got 3"),
        (Experimental, "session_metadata", "model", "must contain SessionMetadata, got 'model'"),
        (SessionMetadata, "version", "1", "version must be of type int"),
        (RPCOptions, "use_rpc_for_inprocess_master", "no", "must be of type bool"),
        (RunOptions, "inter_op_thread_pool", None, "must be of type int, got None"),
        (RunOptions, "debug_options", {}, "must contain DebugOptions"),
    ],
)
def test_a_value_of_a_wrong_type_is_a_type_error(settings: Any, field: str, value: Any, said: str) -> None:
    with pytest.raises(TypeError, match=f"{field}.* {said}" if field not in said else said):
        settings(**{field: value})


def test_numbers_of_numpy_and_lists_become_plain_values() -> None:
    config = ConfigProto(
        inter_op_parallelism_threads=np.int64(3),  # type: ignore[arg-type]
        allow_soft_placement=1,  # type: ignore[arg-type]
        device_filters=["/job:ps"],
        session_inter_op_thread_pool=[ThreadPoolOptionProto()],
    )
    assert type(config.inter_op_parallelism_threads) is int
    assert config.allow_soft_placement is True
    assert config.device_filters == ("/job:ps",)
    assert config.session_inter_op_thread_pool == (ThreadPoolOptionProto(),)


def test_two_jit_levels_let_devices_compile() -> None:
    levels: list[Any] = [-1, JitLevel.OFF, 0, JitLevel.DEFAULT, 1, JitLevel.ON_1, 2, JitLevel.ON_2]
    assert [OptimizerOptions(global_jit_level=each).compiles for each in levels] == [False] * 4 + [True] * 4


pools = st.builds(ThreadPoolOptionProto, num_threads=st.integers(0, 64), global_name=st.text(max_size=5))
optimizer_options = st.builds(
    OptimizerOptions,
    do_common_subexpression_elimination=st.booleans(),
    do_constant_folding=st.booleans(),
    max_folded_constant_in_bytes=st.integers(0, 2**40),
    opt_level=st.sampled_from(OptLevel),
    global_jit_level=st.sampled_from(JitLevel),
)
graph_options = st.builds(
    GraphOptions,
    optimizer_options=optimizer_options,
    build_cost_model=st.integers(0, 9),
    build_cost_model_after=st.integers(0, 9),
    infer_shapes=st.booleans(),
    place_pruned_graph=st.booleans(),
    enable_bfloat16_sendrecv=st.booleans(),
    timeline_step=st.integers(0, 9),
)
metadata = st.builds(SessionMetadata, name=st.text(max_size=5), version=st.integers(-1, 9))
configs = st.builds(
    ConfigProto,
    device_count=st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3),
    intra_op_parallelism_threads=st.integers(0, 8),
    inter_op_parallelism_threads=st.integers(-1, 8),
    use_per_session_threads=st.booleans(),
    session_inter_op_thread_pool=st.lists(pools, max_size=3),
    placement_period=st.integers(0, 9),
    device_filters=st.lists(st.text(max_size=8), max_size=3),
    allow_soft_placement=st.booleans(),
    log_device_placement=st.booleans(),
    graph_options=graph_options,
    operation_timeout_in_ms=st.integers(0, 10**6),
    gpu_options=st.builds(
        GPUOptions,
        per_process_gpu_memory_fraction=st.floats(0, 1) | st.just(1),
        visible_device_list=st.text(max_size=3),
    ),
    rpc_options=st.builds(RPCOptions, use_rpc_for_inprocess_master=st.booleans()),
    isolate_session_state=st.booleans(),
    experimental=st.builds(
        Experimental,
        session_metadata=st.none() | metadata,
        share_cluster_devices_in_session=st.booleans(),
        share_session_state_in_clusterspec_propagation=st.booleans(),
        optimize_for_static_graph=st.booleans(),
    ),
    share_cluster_devices_in_session=st.booleans(),
    plan_cache_size=st.integers(1, 1000),
    partial_run_idle_limit_in_ms=st.integers(1, 10**7),
    wait_for_all_tasks=st.booleans(),
)


@given(configs)
def test_a_configuration_comes_back_as_it_was_sent(config: ConfigProto) -> None:
    assert ConfigProto.from_wire(config.to_wire()) == config


@given(configs)
def test_merging_with_settings_that_ask_for_nothing_changes_nothing(config: ConfigProto) -> None:
    assert config.merged_over(ConfigProto()) == config
    assert ConfigProto().merged_over(config) == config


def test_settings_are_merged_field_by_field_as_protobuf_does() -> None:
    """What is set wins, lists follow, maps are merged by key, and nested settings by the same rules."""
    defaults = ConfigProto(
        allow_soft_placement=True,
        operation_timeout_in_ms=100,
        device_filters=["/job:ps"],
        device_count={"CPU": 1, "TOY": 1},
        graph_options=GraphOptions(infer_shapes=True, optimizer_options=OptimizerOptions(do_constant_folding=True)),
        cluster_def={"ps": ["h:1"]},
    )
    given = ConfigProto(
        operation_timeout_in_ms=200,
        device_filters=["/job:worker"],
        device_count={"CPU": 2},
        graph_options=GraphOptions(timeline_step=3, optimizer_options=OptimizerOptions(opt_level=OptLevel.L0)),
        experimental=Experimental(session_metadata=SessionMetadata(name="m")),
    )
    assert given.merged_over(defaults) == ConfigProto(
        allow_soft_placement=True,
        operation_timeout_in_ms=200,
        device_filters=["/job:ps", "/job:worker"],
        device_count={"CPU": 2, "TOY": 1},
        graph_options=GraphOptions(
            infer_shapes=True,
            timeline_step=3,
            optimizer_options=OptimizerOptions(do_constant_folding=True, opt_level=OptLevel.L0),
        ),
        experimental=Experimental(session_metadata=SessionMetadata(name="m")),
        cluster_def={"ps": ["h:1"]},
    )


def test_a_field_with_its_default_is_not_set() -> None:
    """As for protobuf's fields without presence: nobody can set one back to its default."""
    defaults = ConfigProto(allow_soft_placement=True, plan_cache_size=7)
    given = ConfigProto(allow_soft_placement=False, plan_cache_size=256)
    assert given.merged_over(defaults) == defaults


def test_nested_settings_that_both_sides_have_are_merged() -> None:
    def named(**metadata: Any) -> ConfigProto:
        return ConfigProto(experimental=Experimental(session_metadata=SessionMetadata(**metadata)))

    assert named(version=3).merged_over(named(name="m", version=2)) == named(name="m", version=3)


@pytest.mark.parametrize(
    ("config", "shares"),
    [
        (ConfigProto(), False),
        (ConfigProto(share_cluster_devices_in_session=True), True),
        (ConfigProto(experimental=Experimental(share_cluster_devices_in_session=True)), True),
    ],
)
def test_cluster_devices_are_shared_by_the_present_name_or_the_earlier_one(config: ConfigProto, shares: bool) -> None:
    assert config.shares_cluster_devices is shares


def test_the_wire_form_is_made_of_plain_values_that_nobody_else_holds() -> None:
    counts = {"CPU": 2}
    wire = ConfigProto(device_count=MappingProxyType(counts)).to_wire()
    assert type(wire["device_count"]) is dict
    wire["device_count"]["CPU"] = 5
    assert counts == {"CPU": 2}


def test_fields_left_out_on_the_wire_take_their_defaults() -> None:
    assert ConfigProto.from_wire({}) == ConfigProto()


@for_each(
    "wire, said",
    [
        ({"future_field": 1}, r"no field \['future_field'\]; it has \['allow_soft"),
        ({3: 1}, r"no field \['3'\]"),
        ({"plan_cache_size": 0}, "at least 1"),
        ({"plan_cache_size": "many"}, "invalid ConfigProto"),
        ({"device_count": [1]}, "invalid ConfigProto"),
        ({"device_count": {"CPU": "two"}}, "invalid ConfigProto"),
        ({"graph_options": {"future_field": 1}}, r"GraphOptions has no field \['future_field'\]"),
        (
            {"graph_options": {"optimizer_options": {"inline": 1}}},
            r"OptimizerOptions has no field \['inline'\]; it has \['cpu_global_jit'",
        ),
        ({"rpc_options": {"compression": "gzip"}}, "RPCOptions has no field"),
        ({"experimental": {"session_metadata": {"owner": "me"}}}, "SessionMetadata has no field"),
        ({"session_inter_op_thread_pool": [{"threads": 1}]}, "ThreadPoolOptionProto has no field"),
        ({"session_inter_op_thread_pool": [3]}, "wire form of ThreadPoolOptionProto must be a map"),
        ({"session_inter_op_thread_pool": 3}, "invalid ConfigProto"),
        ({"graph_options": None}, "graph_options must contain GraphOptions, got None"),
        ({"graph_options": {"timeline_step": -1}}, "timeline_step must be at least 0"),
        ({"device_filters": 3}, "device_filters must be a list of device names, got 3"),
        ({"gpu_options": {"per_process_gpu_memory_fraction": -0.5}}, "memory_fraction must be at least 0"),
        ({"gpu_options": {"per_process_gpu_memory_fraction": float("nan")}}, "must be at least 0.0, got nan"),
        (
            {"gpu_options": {"per_process_gpu_memory_fraction": "all"}},
            "memory_fraction must be of type float, got 'all'",
        ),
        ({"gpu_options": {"visible_device_list": 3}}, "visible_device_list must be of type str, got 3"),
        ({"experimental": {"use_tfrt": True}}, "use_tfrt=True is refused"),
        (None, "must be a map"),
        ([], "must be a map"),
        ("text", "must be a map"),
    ],
)
def test_a_bad_configuration_from_a_peer_is_an_invalid_argument(wire: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        ConfigProto.from_wire(wire)


# -- RunOptions ------------------------------------------------------------------------------------


@for_each(
    "level, traced",
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
    with pytest.raises(InvalidArgumentError, match="timeout_in_ms must be at least 0, got -5"):
        RunOptions(timeout_in_ms=-5)


@given(
    st.builds(
        RunOptions,
        trace_level=st.sampled_from(TraceLevel),
        timeout_in_ms=st.integers(0, 10**6),
        inter_op_thread_pool=st.integers(-9, 9),
        output_partition_graphs=st.booleans(),
        debug_options=st.builds(
            DebugOptions,
            debug_tensor_watch_opts=st.lists(
                st.builds(DebugTensorWatch, node_name=st.text(min_size=1), output_slot=st.integers(-1, 9)), max_size=2
            ),
            global_step=st.integers(-1, 9),
        ),
    )
)
def test_run_options_come_back_as_they_were_sent(options: RunOptions) -> None:
    wire = options.to_wire()
    assert type(wire["trace_level"]) is int
    back = RunOptions.from_wire(wire)
    assert back == options
    assert type(back.trace_level) is TraceLevel


@for_each("wire", [{"trace_level": 9}, {"trace_level": "full"}, {"timeout_in_ms": -1}, {"other": 1}, None, [1]])
def test_bad_run_options_from_a_peer_are_an_invalid_argument(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        RunOptions.from_wire(wire)


# -- the environment -------------------------------------------------------------------------------


def test_of_several_variables_the_first_that_is_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "")
    monkeypatch.setenv("THEIRS", " -3 ")
    assert environment_number("UNSET", "OURS", "THEIRS") == -3
    monkeypatch.setenv("OURS", "7")
    assert environment_number("OURS", "THEIRS") == 7
    assert environment_number("UNSET", default=4) == 4


@for_each(
    "word, value", [("true", True), ("1", True), ("TRUE", True), ("false", False), ("0", False), ("False", False)]
)
def test_a_switch_is_read_as_tensorflow_reads_it(word: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWITCH", word)
    assert environment_switch("SWITCH", default=not value) is value


@pytest.mark.parametrize("word", ["yes", "2", "on"])
def test_another_word_is_logged_as_an_error_and_the_default_kept(
    word: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SWITCH", word)
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        assert environment_switch("SWITCH", default=True) is True
        assert environment_switch("SWITCH", default=False) is False
    assert f"SWITCH is ignored: {word!r} is none of true, 1, false, 0; the value is true" in caplog.text


def test_a_number_that_is_none_is_logged_and_the_next_variable_counts(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OURS", "2.5")
    monkeypatch.setenv("THEIRS", "2")
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        assert environment_number("OURS", "THEIRS") == 2
    assert "OURS is ignored: '2.5' is not a whole number" in caplog.text


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


@for_each("wire", [None, 3, [], [1, [[1]], []], [1, [], [["send"]]], [1, 2, 3]])
def test_bad_statistics_from_a_peer_are_an_invalid_argument(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid step statistics"):
        StepStats.from_wire(wire)


def test_metadata_is_cleared_before_it_is_filled_again() -> None:
    metadata = RunMetadata(StepStats(1), [object()])
    kept = metadata.partition_graphs
    metadata.clear()
    assert metadata == RunMetadata()
    assert kept, "what the caller took from it earlier stays as it was"
