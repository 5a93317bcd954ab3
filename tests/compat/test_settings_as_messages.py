"""Settings, run options, run metadata and device specifications, filled in as TensorFlow's messages are."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from tests.rows import for_each


def test_experimental_options_of_a_run_can_be_set_in_place() -> None:
    options: Any = tf.RunOptions()
    options.experimental.collective_graph_key = 7
    assert options.frozen().experimental.collective_graph_key == 7
    assert tf.RunOptions().experimental.collective_graph_key == 0
    made = tf.RunOptions(experimental=tf.RunOptions.Experimental(collective_graph_key=3))
    assert made.frozen().experimental.collective_graph_key == 3
    with pytest.raises(AttributeError, match='has no "collective_key" field'):
        options.experimental.collective_key = 7
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="use_run_handler_pool=True is refused"
    ):
        options.experimental.use_run_handler_pool = True


def test_a_config_for_gpus_is_refused_where_the_devices_of_collectives_are_named() -> None:
    config = tf.ConfigProto()
    config.experimental.collective_nccl = True
    with pytest.raises(tf.errors.InvalidArgumentError, match="collective_nccl=True is refused"):
        tf.Session(config=config, graph=tf.Graph())


def test_a_pool_is_added_and_filled_in() -> None:
    config = tf.ConfigProto()
    pool = config.session_inter_op_thread_pool.add(global_name="compat_pool")
    pool.num_threads = 1
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        options = tf.RunOptions(inter_op_thread_pool=0)
        assert session.run(tf.constant(2) + 3, options=options) == 5


def test_messages_are_merged_copied_and_compared() -> None:
    one = tf.ConfigProto(intra_op_parallelism_threads=2, device_count={"CPU": 2})
    one.graph_options.infer_shapes = True
    other = tf.ConfigProto(allow_soft_placement=True, device_filters=["/job:a"])
    other.MergeFrom(one)
    other.MergeFrom(tf.ConfigProto(device_filters=["/job:b"]))
    assert other.device_filters == ["/job:a", "/job:b"]
    assert (other.intra_op_parallelism_threads, other.device_count) == (2, {"CPU": 2})
    assert other.graph_options.infer_shapes
    copied = tf.ConfigProto(log_device_placement=True)
    copied.CopyFrom(one)
    assert copied == one
    assert copied != other
    copied.device_count["CPU"] = 3
    assert one.device_count == {"CPU": 2}
    copied.ClearField("device_count")
    assert not copied.HasField("device_count")


def test_messages_below_the_top_level_spring_into_being_when_something_is_set_in_them() -> None:
    config = tf.ConfigProto()
    config.experimental.session_metadata.name = "springs into being"
    config.experimental.session_metadata.version = 3
    config.rpc_options.use_rpc_for_inprocess_master = True
    config.graph_options.optimizer_options.do_constant_folding = True
    made = config.frozen()
    assert made.experimental.session_metadata == acts.config.SessionMetadata(
        name="springs into being", version=3
    )
    assert made.rpc_options == acts.config.RPCOptions(use_rpc_for_inprocess_master=True)
    assert made.graph_options.optimizer_options.do_constant_folding
    metadata = tf.RunMetadata()
    config.ClearField("rpc_options")
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        session.run(tf.constant(1.0), run_metadata=metadata)
    assert metadata.session_metadata == made.experimental.session_metadata


def test_reading_a_message_sets_nothing() -> None:
    config = tf.ConfigProto()
    assert config.experimental.session_metadata.name == ""
    assert (config.cluster_def.job, config.rpc_options.ca_file) == ([], "")
    assert (config.device_count, config.device_filters) == ({}, [])
    assert not config.allow_soft_placement
    for name in ("experimental", "cluster_def", "rpc_options", "device_count", "device_filters"):
        assert not config.HasField(name)
    assert not config.HasField("allow_soft_placement")
    assert repr(config) == "ConfigProto()"
    assert config.frozen() == acts.ConfigProto()
    config.experimental.session_metadata.SetInParent()
    assert config.frozen().experimental.session_metadata == acts.config.SessionMetadata()


def test_a_cluster_is_copied_into_the_settings() -> None:
    cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:2"]}).as_cluster_def()
    config, other = tf.ConfigProto(), tf.ConfigProto()
    config.cluster_def.CopyFrom(cluster)
    job = config.cluster_def.job.add(name="ps")
    job.tasks[0] = "c:3"
    assert config.frozen().cluster_def == {
        "worker": {"0": "a:1", "1": "b:2"}, "ps": {"0": "c:3"},
    }  # fmt: skip
    assert len(cluster.job) == 1
    other.CopyFrom(config)
    other.cluster_def.job[0].tasks[0] = "d:4"
    assert config.frozen().cluster_def["worker"]["0"] == "a:1"


def test_copies_share_nothing() -> None:
    config, copied = tf.ConfigProto(), tf.ConfigProto()
    config.session_inter_op_thread_pool.add(num_threads=1)
    config.experimental.session_metadata.name = "one"
    config.gpu_options.allow_growth = True
    copied.CopyFrom(config)
    copied.session_inter_op_thread_pool[0].num_threads = 2
    copied.experimental.session_metadata.name = "two"
    copied.gpu_options.allow_growth = False
    assert config.session_inter_op_thread_pool[0].num_threads == 1
    assert config.experimental.session_metadata.name == "one"
    assert config.gpu_options.allow_growth
    with pytest.raises(TypeError, match="expected a ConfigProto, got GraphOptions"):
        copied.CopyFrom(tf.GraphOptions())


@for_each(
    "message, said",
    [
        (lambda config: config.rpc_options, 'RPCOptions has no "bogus" field; it has use_rpc_for'),
        (lambda config: config.experimental, 'has no "bogus" field; it has session_metadata'),
        (lambda config: config.experimental.session_metadata, 'SessionMetadata has no "bogus"'),
        (lambda config: config.graph_options.optimizer_options, 'OptimizerOptions has no "bogus"'),
        (lambda config: config.cluster_def, "ClusterDef has no field 'bogus'; it has job"),
    ],
    ids=["rpc", "experimental", "metadata", "optimizer", "cluster"],
)
def test_setting_an_unknown_field_names_it_and_those_that_there_are(
    message: Any, said: str
) -> None:
    with pytest.raises(AttributeError, match=said):
        message(tf.ConfigProto()).bogus = 1


def test_a_session_tells_its_target_as_bytes() -> None:
    with tf.Graph().as_default():
        for kind in (tf.Session, tf.InteractiveSession):
            session = kind()
            assert session.sess_str == b""
            session.close()
        remote = tf.Session("tcp://127.0.0.1:1")
        assert remote.sess_str == b"tcp://127.0.0.1:1"
        remote.close()


@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_sessions_are_reset_with_settings_of_either_kind(kind: Any) -> None:
    config = tf.ConfigProto(operation_timeout_in_ms=60_000)
    for given in (None, config, config.frozen()):
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


def test_run_options_are_set_after_they_were_made() -> None:
    options: Any = tf.RunOptions(report_tensor_allocations_upon_oom=True)
    options.trace_level = tf.RunOptions.FULL_TRACE
    options.output_partition_graphs = True
    with pytest.raises(tf.errors.InvalidArgumentError, match="trace_level"):
        options.trace_level = 77
    with pytest.raises(AttributeError, match='RunOptions has no "trase_level" field; it has trace'):
        options.trase_level = 3
    with pytest.raises(ValueError, match='RunOptions has no "trase_level" field'):
        tf.RunOptions(trase_level=3)
    metadata = tf.RunMetadata()
    assert len(metadata.step_stats.dev_stats) == 0
    assert not metadata.HasField("step_stats")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        session.run(tf.identity(x, name="y"), {x: 1.0}, options, metadata)
        (graph,) = metadata.partition_graphs
        assert "y" in [node.name for node in graph.node]
        assert metadata.HasField("step_stats")
        assert len(metadata.step_stats.dev_stats) == 1
        session.run(tf.constant(1.0), run_metadata=metadata)
        assert not metadata.HasField("step_stats")
    with pytest.raises(ValueError, match="no_such"):
        metadata.HasField("no_such")


def test_a_device_specification_is_changed_in_place() -> None:
    spec: Any = tf.DeviceSpec(job="worker")
    spec.task = 1
    spec.merge_from(tf.DeviceSpec(device_type="CPU", task=2))
    assert spec.to_string() == "/job:worker/task:2/device:CPU:*"
    assert spec.parse_from_string("/job:ps/task:0") is spec
    assert str(spec) == "/job:ps/task:0"
    merged = spec.make_merged_spec(tf.DeviceSpec(task=3))
    assert (str(merged), str(spec)) == ("/job:ps/task:3", "/job:ps/task:0")
    assert str(spec.replace(job="other")) == "/job:other/task:0"
    with tf.Graph().as_default(), tf.device(merged):
        assert tf.constant(1).device == "/job:ps/task:3"
    assert isinstance(tf.DeviceSpec.from_string("/cpu:0"), tf.DeviceSpec)


def test_an_interactive_session_places_what_runs() -> None:
    with tf.Graph().as_default():
        with tf.device("/device:GPU:0"):
            elsewhere = tf.constant(1.0)
        session = tf.InteractiveSession()
        assert tf.constant(2.0).eval() == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="GPU"):
            elsewhere.eval()
        session.close()


def test_the_default_graph_is_reset_while_an_interactive_session_is_open() -> None:
    tf.reset_default_graph()
    session = tf.InteractiveSession()
    tf.constant(1.0, name="before")
    tf.reset_default_graph()
    assert tf.constant(1.0).name == "Const:0"
    session.close()


def test_the_graph_of_a_session_tells_shapes_if_they_are_asked_for() -> None:
    asked = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Graph().as_default():
        tf.constant([1, 2])
        plain, telling = tf.Session(), tf.Session(config=asked)
        assert "_output_shapes" not in plain.graph_def.node[0].attr
        assert "_output_shapes" in telling.graph_def.node[0].attr
        plain.close()
        telling.close()


def test_a_graph_tells_the_scope_that_is_entered() -> None:
    with tf.Graph().as_default() as graph:
        assert graph.get_name_scope() == ""
        with tf.name_scope("a"), tf.name_scope("b"):
            assert graph.get_name_scope() == "a/b"
