"""TensorFlow's messages as programs fill them in; protobuf did the same with the same lines."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.core.framework import graph_pb2, types_pb2
from actorsession.compat.v1.core.protobuf import config_pb2
from tests.rows import for_each


def test_messages_spring_into_being_when_a_field_of_theirs_is_set() -> None:
    config = tf.ConfigProto()
    assert config.gpu_options.allow_growth is False
    assert not config.HasField("gpu_options")
    config.gpu_options.allow_growth = False
    assert config.HasField("gpu_options")
    config.experimental.session_metadata.version = 3
    assert config.HasField("experimental")
    held = tf.ConfigProto()
    held.cluster_def.job.add(name="a")
    assert str(held) == 'cluster_def {\n  job {\n    name: "a"\n  }\n}\n'


@for_each(
    "touch",
    [
        lambda m: m.Clear(),
        lambda m: m.ClearField("allow_growth"),
        lambda m: m.SetInParent(),
        lambda m: m.MergeFrom(tf.GPUOptions()),
        lambda m: m.CopyFrom(tf.GPUOptions()),
        lambda m: m.ParseFromString(b""),
        lambda m: m.experimental.virtual_devices.extend([]),
    ],
    ids=["Clear", "ClearField", "SetInParent", "MergeFrom", "CopyFrom", "ParseFromString", "extend"],
)
def test_a_message_is_set_by_what_is_done_to_it(touch: Any) -> None:
    config = tf.ConfigProto()
    touch(config.gpu_options)
    assert config.HasField("gpu_options")


def test_a_message_that_was_cleared_away_is_one_of_its_own() -> None:
    config = tf.ConfigProto()
    held = config.experimental
    config.Clear()
    held.session_metadata.version = 3
    assert str(config) == ""
    assert held.session_metadata.version == 3
    # Enumerations know their names and values.
    level = tf.RunOptions.TraceLevel
    assert (level.Name(3), level.Value("FULL_TRACE"), level.FULL_TRACE) == ("FULL_TRACE", 3, 3)
    assert level.items() == list(zip(level.keys(), level.values(), strict=True))
    assert level.keys() == ["NO_TRACE", "SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE"]
    assert (tf.OptimizerOptions.L0, tf.OptimizerOptions.ON_1) == (-1, 1)
    assert (tf.train.SaverDef.V2, tf.RunOptions.FULL_TRACE) == (2, 3)
    assert types_pb2.DataType.Name(types_pb2.DT_FLOAT) == "DT_FLOAT"
    # The files of messages hold them.
    assert graph_pb2.GraphDef is tf.GraphDef
    assert config_pb2.ConfigProto is tf.ConfigProto
    assert "RunMetadata" in dir(config_pb2)
    with pytest.raises(AttributeError, match="has no attribute 'Spam'; it has BatchingOptions"):
        _ = config_pb2.Spam
    # Unknown fields are kept.
    config = tf.ConfigProto.FromString(b"\xf8\x3f\x05\x38\x01")
    assert config.SerializeToString() == b"8\x01\xf8?\x05"
    assert str(config) == "allow_soft_placement: true\n"
    assert config != tf.ConfigProto(allow_soft_placement=True)
    assert copy.deepcopy(config).ByteSize() == 5
    config.DiscardUnknownFields()
    assert config == tf.ConfigProto(allow_soft_placement=True)


def test_one_member_of_a_oneof_is_set_and_a_held_one_comes_back() -> None:
    feature = tf.train.Feature()
    texts, numbers = feature.bytes_list, feature.int64_list
    numbers.value.append(1)
    assert feature.WhichOneof("kind") == "int64_list"
    texts.value.append(b"x")
    assert feature.WhichOneof("kind") == "bytes_list"
    numbers.value.append(3)
    assert str(feature) == 'bytes_list {\n  value: "x"\n}\n'
    assert list(numbers.value) == [1, 3]
    assert feature.HasField("kind")
    feature.ClearField("kind")
    assert feature.WhichOneof("kind") is None


NEW: dict[str, Any] = {
    "config": tf.ConfigProto,
    "options": tf.RunOptions,
    "feature": tf.train.Feature,
    "cluster": tf.train.ClusterDef,
    "graph": tf.GraphDef,
}


LINES = (Path(__file__).parent / "data" / "messages.txt").read_text().splitlines()[1:]


@for_each("line", LINES)
def test_a_line_does_what_it_does_with_protobuf(line: str) -> None:
    code, _, wanted = line.partition(" =>")
    made = {name: make() for name, make in NEW.items()}
    names = {"tf": tf, "np": np, **made}
    if wanted.startswith(" !"):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # the class is asserted below
            exec(code, names)  # noqa: S102
        assert type(caught.value).__name__ == wanted[2:]
        return
    exec(code, names)  # noqa: S102
    assert str(made[code.partition(".")[0]]) == (wanted.strip().replace("|", "\n") + "\n" if wanted else "")


def test_arguments_may_be_dicts_of_fields_and_none() -> None:
    made = tf.ConfigProto(
        gpu_options={"allow_growth": True},
        graph_options=None,
        device_count={"CPU": 2},
        session_inter_op_thread_pool=[{"num_threads": 3}],
    )
    assert made.gpu_options.allow_growth
    assert made.session_inter_op_thread_pool[0].num_threads == 3
    assert tf.train.Features(feature={"a": {"int64_list": {"value": [3]}}}).feature["a"].int64_list.value == [3]


def _pickled(message: Any) -> Any:
    return pickle.loads(pickle.dumps(message))  # noqa: S301  # our own bytes


def test_messages_are_copied_pickled_and_described() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    config.gpu_options.allow_growth = True
    for made in (copy.copy(config), copy.deepcopy(config), _pickled(config)):
        assert made == config
        made.gpu_options.allow_growth = False
        assert made != config
    assert config.IsInitialized()
    assert [(field.name, field.number) for field, _ in config.ListFields()] == [("device_count", 1), ("gpu_options", 6)]
    said = tf.ConfigProto.DESCRIPTOR
    assert (said.full_name, len(said.fields)) == ("tensorflow.ConfigProto", 18)
    assert said.fields_by_name["gpu_options"].message_type.full_name == "tensorflow.GPUOptions"
    assert said.fields_by_name["allow_soft_placement"].type == 8
    assert tf.ConfigProto.ALLOW_SOFT_PLACEMENT_FIELD_NUMBER == 7
    assert "allow_soft_placement" in dir(config)


def test_settings_reach_the_session() -> None:
    config = tf.ConfigProto(device_count={"CPU": 2}, isolate_session_state=True)
    config.session_inter_op_thread_pool.add(num_threads=1, global_name="of messages")
    config.experimental.session_metadata.name = "one"
    config.experimental.session_metadata.version = 3
    metadata = tf.RunMetadata()
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert len(session.list_devices()) == 2
        options = tf.RunOptions(inter_op_thread_pool=0)
        assert session.run(tf.constant(2) + 3, options=options, run_metadata=metadata) == 5
    assert metadata.session_metadata == config.experimental.session_metadata


def test_settings_that_change_no_result_are_taken() -> None:
    config = tf.ConfigProto(log_device_placement=False)
    config.gpu_options.per_process_gpu_memory_fraction = 0.4
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100])
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    config.graph_options.rewrite_options.constant_folding = 2
    config.experimental.collective_nccl = True
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    options = tf.RunOptions(report_tensor_allocations_upon_oom=True)
    options.experimental.use_run_handler_pool = True
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert session.run(tf.constant(2.0), options=options) == 2.0


@for_each(
    "config",
    [
        {"device_count": {"GPU": 1, "TPU": 8}},
        {"intra_op_parallelism_threads": -1, "operation_timeout_in_ms": -1, "placement_period": -1},
        {"graph_options": {"build_cost_model": -1, "timeline_step": -1}},
        {"graph_options": {"optimizer_options": {"opt_level": 7, "max_folded_constant_in_bytes": -1}}},
    ],
)
def test_numbers_that_tensorflow_takes_are_taken(config: dict[str, Any]) -> None:
    """TensorFlow 2.21 ran each of them."""
    options = tf.RunOptions(timeout_in_ms=-1, trace_level=77)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(**config)) as session:
        metadata = tf.RunMetadata()
        x = tf.placeholder(tf.float32)
        assert session.run(x + 2.0, {x: 1.0}, options, metadata) == 3.0
        assert metadata.HasField("step_stats")


def test_a_session_without_processors_is_refused() -> None:
    for count in (0, -1):
        with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match="CPU"):
            tf.Session(config=tf.ConfigProto(device_count={"CPU": count}))
    # The message of a tensor is a name of tf.
    info = tf.TensorInfo(name="x:0")
    info.tensor_shape.dim.add().size = 3
    assert tf.TensorInfo.FromString(info.SerializeToString()) == info
    # Options of calls are in the file of sessions.
    options = config_pb2.RPCOptions(use_rpc_for_inprocess_master=True, num_channels_per_target=2)
    config = tf.ConfigProto(rpc_options=options)
    assert config.rpc_options.use_rpc_for_inprocess_master
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        assert session.run(tf.constant(2.0)) == 2.0


def test_a_run_fills_in_its_metadata_anew() -> None:
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf.RunMetadata()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y = tf.add(x, 1.0, name="y")
        session.run(y, {x: [1.0, 2.0]}, options, metadata)
        (graph,) = metadata.partition_graphs
        assert "y" in [node.name for node in graph.node]
        (device,) = metadata.step_stats.dev_stats
        assert device.device.endswith("CPU:0")
        (stats,) = [s for s in device.node_stats if s.node_name == "y"]
        assert stats.all_end_rel_micros >= stats.op_end_rel_micros >= 0
        (output,) = stats.output
        assert output.tensor_description.dtype == types_pb2.DT_FLOAT
        assert [d.size for d in output.tensor_description.shape.dim] == [2]
        assert tf.RunMetadata.FromString(metadata.SerializeToString()) == metadata
        session.run(y, {x: [1.0, 2.0]}, run_metadata=metadata)
        assert not metadata.HasField("step_stats")
        assert len(metadata.partition_graphs) == 0
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata"):
            session.run(y, {x: [1.0, 2.0]}, options, tf.RunOptions())
        with pytest.raises(TypeError, match="options is a RunOptions"):
            session.run(y, {x: [1.0, 2.0]}, tf.ConfigProto())


def test_a_cost_graph_is_reported_as_a_message() -> None:
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=1))
    metadata = tf.RunMetadata()
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [2])
        session.run(tf.square(x, name="y"), {x: [1.0, 2.0]}, run_metadata=metadata)
    (node,) = [node for node in metadata.cost_graph.node if node.name == "y"]
    assert node.output_info[0].dtype == types_pb2.DT_FLOAT
    assert node.output_info[0].size == 8


@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_sessions_are_reset_with_settings_of_either_kind(kind: Any) -> None:
    for given in (None, tf.ConfigProto(operation_timeout_in_ms=60_000)):
        with tf.Graph().as_default():
            x = tf.constant(1.0)
            session = tf.Session()
            assert session.run(x) == 1.0
            kind.reset("", ["a"], config=given)
            with pytest.raises(tf.errors.CancelledError):
                session.run(x)
            session.close()
    with pytest.raises(TypeError, match="config is a ConfigProto, got int"):
        kind.reset("", None, 3)


def test_a_server_takes_its_settings_from_its_description() -> None:
    cluster = tf.train.ClusterSpec({"worker": ["127.0.0.1:0"]})
    said = tf.train.ServerDef(cluster=cluster.as_cluster_def(), job_name="worker", protocol="grpc")
    said.default_session_config.device_count["CPU"] = 2
    server = tf.train.Server(said)
    try:
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            names = [device.name for device in session.list_devices()]
        assert len([name for name in names if "CPU" in name]) == 2
        assert server.server_def.default_session_config.device_count == {"CPU": 2}
    finally:
        server.stop()
