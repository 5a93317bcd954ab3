"""What protobuf, Python and libraries over TensorFlow 1 had, and what they use of its insides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto import versions_pb2

import actorsession.compat.v1 as tf
from actorsession.compat.libraries import distutils, json_format, pkg_resources
from actorsession.compat.libraries.distutils import LooseVersion, StrictVersion
from actorsession.compat.v1.contrib import cluster_resolver, predictor
from actorsession.compat.v1.python.framework import smart_cond
from actorsession.compat.v1.python.ops import confusion_matrix, metrics_impl, rnn_cell_impl, variable_scope
from actorsession.compat.v1.python.training import optimizer as optimizers
from actorsession.interop import VersionDef


@pytest.mark.parametrize("kind", [VersionDef, versions_pb2.VersionDef], ids=["ours", "protobuf's"])
def test_json_is_written_and_read_by_whoever_made_the_class(kind: Any) -> None:
    message = kind(producer=3, bad_consumers=[1])
    assert json_format.MessageToDict(message) == {"producer": 3, "badConsumers": [1]}
    assert json_format.Parse(json_format.MessageToJson(message), kind()) == message
    assert json_format.ParseDict({"producer": 3, "bad_consumers": [1]}, kind()) == message


def test_other_names_are_protobufs() -> None:
    assert callable(json_format.SerializeToJsonError)
    with pytest.raises(AttributeError, match="no attribute 'spam'"):
        _ = json_format.spam
    with pytest.raises(json_format.ParseError, match="no field 'spam'"):
        json_format.ParseDict({"spam": 1}, tf.ConfigProto())


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        (LooseVersion, "1.9", "1.10"),
        (LooseVersion, "1.15.0rc1", "1.15.1"),
        (LooseVersion, "1.15", "1.15.0"),
        (LooseVersion, "2.2.4-tf", "2.3"),
        (StrictVersion, "1.9", "1.10"),
        (StrictVersion, "1.15a1", "1.15b1"),
        (StrictVersion, "1.15b2", "1.15"),
        (StrictVersion, "1.14.9", "1.15.0"),
    ],
)
def test_versions_are_in_their_order(kind: type[LooseVersion], less: str, more: str) -> None:
    assert kind(less) < kind(more)
    assert kind(less) < more
    assert kind(more) >= kind(less)
    assert kind(less) != kind(more)


def test_a_strict_version_without_a_last_number_is_that_with_0() -> None:
    assert StrictVersion("1.15") == StrictVersion("1.15.0") == "1.15"
    assert str(StrictVersion("1.15.0")) == "1.15"
    assert str(StrictVersion("1.15.2b3")) == "1.15.2b3"
    assert LooseVersion("1.15.2").version == [1, 15, 2]
    with pytest.raises(ValueError, match="invalid version number"):
        StrictVersion("1.15.0-rc1")
    # Words for yes and no.
    assert [distutils.strtobool(word) for word in ("Yes", "on", "1", "n", "False")] == [1, 1, 1, 0, 0]
    with pytest.raises(ValueError, match="invalid truth value 'perhaps'"):
        distutils.strtobool("perhaps")
    # Versions of what is installed.
    assert pkg_resources.parse_version(pkg_resources.get_distribution("numpy").version) > "1.20"
    with pytest.raises(pkg_resources.DistributionNotFound):
        pkg_resources.get_distribution("no-such-library")


def test_files_of_a_package_are_found_beside_its_module() -> None:
    package = "actorsession.compat"
    assert pkg_resources.resource_filename(package, "alias.py").endswith("compat/alias.py")
    assert pkg_resources.resource_exists(package, "alias.py")
    assert not pkg_resources.resource_exists(package, "spam.py")
    assert pkg_resources.resource_isdir(package, "libraries")
    assert "alias.py" in pkg_resources.resource_listdir(package, "")
    assert b"install_alias" in pkg_resources.resource_string(package, "alias.py")
    with pkg_resources.resource_stream(package, "alias.py") as file:
        assert file.read(3) == b'"""'


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_a_custom_getter_is_told_whether_the_variable_is_trained() -> None:
    told = {}

    def outer(getter: Any, name: str, **kwargs: Any) -> Any:
        told[name] = kwargs["trainable"]
        return getter(name, **kwargs)

    on_read = tf.VariableSynchronization.ON_READ
    with tf.variable_scope("a", custom_getter=outer):
        tf.get_variable("v", [2])
        tf.get_variable("w", [2], trainable=False)
        tf.get_variable("x", [2], synchronization=on_read)
    assert told == {"a/v": True, "a/w": False, "a/x": False}
    assert [v.op.name for v in tf.trainable_variables()] == ["a/v"]


def test_slots_are_found_by_graph_and_name_and_adam_gives_the_powers_of_its_betas() -> None:
    v = tf.get_variable("v", [2])
    adam = tf.train.AdamOptimizer()
    assert adam._get_beta_accumulators() == (None, None)
    adam.minimize(tf.reduce_sum(v * v))
    assert optimizers._var_key(v) == (v.graph, "v")
    assert sorted(adam._slots["m"]) == [(v.graph, "v")]
    assert adam._slots["m"][optimizers._var_key(v)] is adam.get_slot(v, "m")
    assert [p.op.name for p in adam._get_beta_accumulators()] == ["beta1_power", "beta2_power"]


def test_all_optimisers_say_that_their_base_is_optimizer() -> None:
    names = [n for n in dir(tf.train) if n.endswith("Optimizer") and n != "Optimizer"]
    bases = {getattr(tf.train, name).__base__ for name in names}
    assert len(names) > 8
    assert bases == {tf.train.Optimizer}


def test_a_device_function_is_asked_once_for_a_variable() -> None:
    asked = []

    def chosen(op: Any) -> str:
        asked.append(op.type)
        return f"/device:CPU:{len(asked) - 1}"

    with tf.device(chosen):
        v = tf.get_variable("v", initializer=tf.zeros_initializer(), shape=[2])
    assert v.device == "/device:CPU:0"
    assert asked[0] == "VariableV2"


def test_a_saved_model_is_a_function_of_arrays(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable("v", initializer=3.0)
    y = tf.multiply(x, v, name="y")
    with tf.Session() as session:
        session.run(v.initializer)
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    model = predictor.from_saved_model(folder)
    np.testing.assert_array_equal(model({"x": [1.0, 2.0]})["y"], [3.0, 6.0])
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]"):
        model({"z": 1})
    by_names = predictor.from_saved_model(folder, input_names={"in": "x:0"}, output_names={"out": "y:0"})
    np.testing.assert_array_equal(by_names({"in": [2.0]})["out"], [6.0])
    with pytest.raises(ValueError, match="Available signatures are"):
        predictor.from_saved_model(folder, "other")


def test_an_estimator_is_a_function_of_arrays(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        weight = tf.get_variable("w", initializer=2.0)
        found = features["x"] * weight
        if mode == "infer":
            return tf.estimator.EstimatorSpec(mode, predictions={"y": found})
        loss = tf.reduce_mean(found - labels)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1))

    def receive() -> Any:
        x = tf.placeholder(tf.float32, [None])
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"given": x})

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    estimator.train(lambda: ({"x": tf.constant([1.0])}, tf.constant([1.0])), max_steps=1)
    np.testing.assert_array_equal(predictor.from_estimator(estimator, receive)({"given": [3.0]})["y"], [6.0])


def test_resolvers_know_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = {"ps": ["a:1"], "worker": ["b:1", "c:1"]}
    simple = cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(jobs), "b:1", rpc_layer="grpc")
    assert (simple.master(), simple.master("worker", 1)) == ("grpc://b:1", "grpc://c:1")
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": jobs, "task": {"type": "worker", "index": 1}}))
    found = cluster_resolver.TFConfigClusterResolver()
    assert (found.task_type, found.task_id, found.master()) == ("worker", 1, "c:1")
    assert found.cluster_spec().as_dict() == jobs
    monkeypatch.delenv("TF_CONFIG")
    assert cluster_resolver.TFConfigClusterResolver().master() == ""
    with pytest.raises(ValueError, match="there are no TPUs"):
        cluster_resolver.TPUClusterResolver()


def test_a_known_condition_is_decided_while_the_graph_is_built() -> None:
    assert smart_cond.smart_cond(tf.constant(False), lambda: "yes", lambda: "no") == "no"
    fed = tf.placeholder(tf.bool, [])
    built = smart_cond.smart_cond(fed, lambda: tf.constant(1), lambda: tf.constant(2))
    with tf.Session() as session:
        assert session.run(built, {fed: True}) == 1
    assert smart_cond.smart_constant_value(1) is True
    with pytest.raises(TypeError, match="must be a Tensor, or a Python bool"):
        smart_cond.smart_constant_value("x")


def test_scopes_without_names_zeros_of_states_and_metric_variables() -> None:
    with tf.name_scope("n"), variable_scope._pure_variable_scope("s"):
        v = tf.get_variable("v", [1])
        assert tf.constant(1.0).op.name == "n/Const"
    assert v.op.name == "s/v"
    zeros = rnn_cell_impl._zero_state_tensors({"a": 2, "b": tf.TensorShape([3, 4])}, 5, tf.float32)
    assert (zeros["a"].shape, zeros["b"].shape) == ([5, 2], [5, 3, 4])
    local = metrics_impl.metric_variable([2], tf.float32, name="m")
    assert tf.local_variables() == tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == [local]


def test_hits_and_misses_at_thresholds() -> None:
    values, updates = metrics_impl._confusion_matrix_at_thresholds(
        [True, False, True], [0.9, 0.6, 0.2], [0.5], includes=("tp", "fp")
    )
    assert sorted(values) == ["fp", "tp"]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(updates)
        assert session.run(values) == {"fp": [1.0], "tp": [1.0]}
    labels, found = confusion_matrix.remove_squeezable_dimensions(tf.ones([3]), tf.ones([3, 1]))
    assert (labels.shape, found.shape) == ([3], [3])
