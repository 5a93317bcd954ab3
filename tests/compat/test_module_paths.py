"""TensorFlow's module paths: ``tensorflow.python``, ``core`` and ``examples``."""

from __future__ import annotations

import ast
import importlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import actorsession
import actorsession.compat.v1 as tf
from actorsession import extend
from actorsession.compat.v1.internals.module_paths import TABLE, module_paths
from actorsession.lazy_names import read_table
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


V1 = "actorsession.compat.v1"


def module(path: str) -> Any:
    return importlib.import_module(f"{V1}.{path}")


@for_each("root", sorted(TABLE))
def test_every_module_of_the_table_is_imported_and_its_names_exist(root: str) -> None:
    for path, _ in module_paths(root):
        found = module(f"{root}.{path}")
        assert isinstance(found, ModuleType)
        assert dir(found) != [], path
        assert not hasattr(found, "no_such_name")


def test_no_module_is_listed_twice() -> None:
    listed = [f"{root}.{path}" for root in TABLE for path, _ in module_paths(root)]
    assert sorted(set(listed)) == sorted(listed)
    # Modules are attributes of their packages.
    python: Any = tf.python
    assert python.ops.math_ops is sys.modules[f"{V1}.python.ops.math_ops"]
    assert tf.core.protobuf.config_pb2 is module("core.protobuf.config_pb2")
    with pytest.raises(AttributeError, match=r"no attribute 'math_op'; did you mean math_ops"):
        _ = python.ops.math_op


# A name of each module that programs import, and what it is.
SAME = {
    "python.client.session:Session": "Session",
    "python.client.session:InteractiveSession": "InteractiveSession",
    "python.framework.constant_op:constant": "constant",
    "python.framework.dtypes:float32": "float32",
    "python.framework.dtypes:as_dtype": "as_dtype",
    "python.framework.errors:OutOfRangeError": "errors.OutOfRangeError",
    "python.framework.errors_impl:NotFoundError": "errors.NotFoundError",
    "python.framework.graph_util:convert_variables_to_constants": "graph_util.convert_variables_to_constants",
    "python.framework.importer:import_graph_def": "import_graph_def",
    "python.framework.ops:Graph": "Graph",
    "python.framework.ops:RegisterGradient": "RegisterGradient",
    "python.framework.ops:Tensor": "Tensor",
    "python.framework.ops:get_default_graph": "get_default_graph",
    "python.framework.random_seed:set_random_seed": "set_random_seed",
    "python.framework.sparse_tensor:SparseTensor": "SparseTensor",
    "python.framework.tensor_shape:TensorShape": "TensorShape",
    "python.framework.tensor_util:make_tensor_proto": "make_tensor_proto",
    "python.framework.test_util:TensorFlowTestCase": "test.TestCase",
    "python.ops.array_ops:placeholder": "placeholder",
    "python.ops.clip_ops:clip_by_norm": "clip_by_norm",
    "python.ops.control_flow_ops:cond": "cond",
    "python.ops.control_flow_ops:while_loop": "while_loop",
    "python.ops.data_flow_ops:FIFOQueue": "FIFOQueue",
    "python.ops.gradients_impl:gradients": "gradients",
    "python.ops.init_ops:zeros_initializer": "zeros_initializer",
    "python.ops.math_ops:matmul": "matmul",
    "python.ops.nn_ops:softmax": "nn.softmax",
    "python.ops.random_ops:random_normal": "random_normal",
    "python.ops.rnn_cell_impl:LSTMCell": "nn.rnn_cell.LSTMCell",
    "python.ops.state_ops:assign": "assign",
    "python.ops.variable_scope:get_variable": "get_variable",
    "python.ops.variables:global_variables": "global_variables",
    "python.platform.app:run": "app.run",
    "python.platform.flags:FLAGS": "flags.FLAGS",
    "python.platform.gfile:GFile": "gfile.GFile",
    "python.platform.test:TestCase": "test.TestCase",
    "python.platform.tf_logging:info": "logging.info",
    "python.training.adam:AdamOptimizer": "train.AdamOptimizer",
    "python.training.coordinator:Coordinator": "train.Coordinator",
    "python.training.monitored_session:MonitoredSession": "train.MonitoredSession",
    "python.training.moving_averages:ExponentialMovingAverage": "train.ExponentialMovingAverage",
    "python.training.queue_runner_impl:QueueRunner": "train.QueueRunner",
    "python.training.saver:Saver": "train.Saver",
    "python.training.server_lib:ClusterSpec": "train.ClusterSpec",
    "python.training.session_run_hook:SessionRunHook": "train.SessionRunHook",
    "python.util.compat:as_bytes": "compat.as_bytes",
    "core.framework.graph_pb2:GraphDef": "GraphDef",
    "core.protobuf.config_pb2:ConfigProto": "ConfigProto",
}


@for_each("ours, theirs", sorted(SAME.items()))
def test_names_are_those_of_tf(ours: str, theirs: str) -> None:
    path, _, name = ours.partition(":")
    wanted: Any = tf
    for part in theirs.split("."):
        wanted = getattr(wanted, part)
    assert getattr(module(path), name) is wanted


# -- what the modules have beyond tf -----------------------------------------------------------


def test_operations_have_functions_under_their_names_in_small_letters() -> None:
    product = module("python.ops.gen_math_ops").mat_mul(tf.ones([2, 3]), tf.ones([3, 1]), transpose_a=False)
    entered = module("python.ops.gen_control_flow_ops").enter(tf.constant(1.0), "frame", True)
    assert entered.op.get_attr("frame_name") == b"frame"
    assert entered.op.get_attr("is_constant") is True
    with tf.Session() as session:
        assert session.run(product).tolist() == [[3.0], [3.0]]
    # Scopes are put before names and taken away.
    ops = module("python.framework.ops")
    assert ops.strip_name_scope("^outer/inner/add", "outer") == "^inner/add"
    assert ops.strip_name_scope("loc:@outer/add", "outer/") == "loc:@add"
    assert ops.strip_name_scope("add", "outer") == "add"
    assert ops.prepend_name_scope("^add", "outer") == "^outer/add"
    assert ops.prepend_name_scope("add", None) == "add"
    assert ops.uid() != ops.uid()
    with tf.Graph().as_default(), tf.name_scope("a"), tf.name_scope("b"):
        assert ops.get_name_scope() == "a/b"


@for_each(
    "op_type, name",
    [
        ("MatMul", "mat_mul"),
        ("Conv2DBackpropInput", "conv2d_backprop_input"),
        ("LRN", "lrn"),
        ("CTCLoss", "ctc_loss"),
        ("FIFOQueueV2", "fifo_queue_v2"),
        ("Add", "add"),
        ("DecodeJSONExample", "decode_json_example"),
        ("IFFT2D", "ifft2d"),
    ],
)
def test_names_in_small_letters(op_type: str, name: str) -> None:
    assert module("internals.generated").snake_case(op_type) == name


def test_devices_merge_from_the_inside(graph: Any) -> None:
    device = module("python.framework.device")
    with graph.device(device.merge_device("/job:worker/cpu:0")), graph.device("/task:3"):
        made = tf.constant(1.0)
    assert made.device == "/job:worker/task:3/device:CPU:0"
    assert device.canonical_name("/job:ps/cpu:1") == "/job:ps/device:CPU:1"
    assert device.canonical_name(None) == ""
    # Devices of this process are messages.
    found = module("python.client.device_lib").list_local_devices()
    assert (found[0].name, found[0].device_type) == ("/device:CPU:0", "CPU")
    assert found[0].incarnation > 0


def test_shapes_of_known_values() -> None:
    util, shapes = module("python.framework.tensor_util"), module("python.framework.tensor_shape")
    fed = tf.placeholder(tf.int32, [])
    assert util.constant_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert util.constant_value_as_shape(tf.stack([3, fed])).as_list() == [3, None]
    assert util.is_tensor(fed)
    assert shapes.unknown_shape(2).as_list() == [None, None]
    assert shapes.matrix(2, None).as_list() == [2, None]
    made = util.make_tensor_proto([[1.0, 2.0]])
    assert util.ShapeEquals(made, [1, 2])
    assert util.MakeNdarray(made).tolist() == [[1.0, 2.0]]


def test_moving_averages_are_assigned() -> None:
    averages = module("python.training.moving_averages")
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.placeholder(tf.float32, [])
        plain = tf.get_variable("plain", [], initializer=tf.zeros_initializer())
        fair = tf.get_variable("fair", [], initializer=tf.zeros_initializer())
        moves = [
            averages.assign_moving_average(plain, value, 0.9, zero_debias=False),
            averages.assign_moving_average(fair, value, 0.9),
        ]
        mean = averages.weighted_moving_average(value, 0.5, weight=2.0)
        session.run(tf.global_variables_initializer())
        for number in 4.0, 8.0:
            session.run(moves, {value: number})
        np.testing.assert_allclose(session.run(plain), 0.4 * 0.9 + 0.8, rtol=1e-6)
        np.testing.assert_allclose(session.run(fair), (0.4 * 0.9 + 0.8) / (1 - 0.9**2), rtol=1e-5)
        assert [session.run(mean, {value: v}) for v in (4.0, 1.0)] == [4.0, 2.0]
        names = " ".join(v.op.name for v in tf.global_variables())
        ends = "WeightedMovingAvg/value_x_weight WeightedMovingAvg/weight"
        assert names == f"plain fair fair/biased fair/local_step {ends}"


def test_slots_begin_like_their_variables() -> None:
    slots = module("python.training.slot_creator")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("scope/v", initializer=[1.0, 2.0])
        made = [slots.create_zeros_slot(v, "zeros"), slots.create_slot(v, v.initialized_value(), "copy")]
        session.run(tf.global_variables_initializer())
        assert [slot.op.name for slot in made] == ["scope/v/zeros", "scope/v/copy"]
        assert [x.tolist() for x in session.run(made)] == [[0.0, 0.0], [1.0, 2.0]]


def test_weights_are_broadcast_as_metrics_do() -> None:
    weights = module("python.ops.weights_broadcast_ops")
    with tf.Graph().as_default(), tf.Session() as session:
        values = tf.ones([2, 3])
        assert session.run(weights.broadcast_weights([[2.0], [3.0]], values)).tolist() == [[2.0] * 3, [3.0] * 3]
        assert session.run(weights.broadcast_weights(4.0, values)).tolist() == [[4.0] * 3] * 2
        with pytest.raises(ValueError, match=r"weights can not be broadcast to values"):
            weights.assert_broadcastable([1.0, 2.0], values)
        fed = tf.placeholder(tf.float32)
        checked = weights.broadcast_weights(fed, values)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
            session.run(checked, {fed: [[1.0, 2.0]]})


def test_conditions_that_are_known_choose_at_once() -> None:
    utils = module("python.layers.utils")
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder_with_default(True, [])
        assert utils.smart_cond(tf.constant(False), lambda: 1, lambda: 2) == 2
        assert utils.smart_cond(1, lambda: 1, lambda: 2) == 1
        assert session.run(utils.smart_cond(fed, lambda: tf.constant(1), lambda: tf.constant(2)), {fed: False}) == 2
    assert utils.convert_data_format("channels_first", 5) == "NCDHW"
    assert utils.normalize_tuple(3, 2, "strides") == (3, 3)
    with pytest.raises(ValueError, match="`strides` argument must be a tuple of 2 integers"):
        utils.normalize_tuple([1, 2, 3], 2, "strides")
    assert utils.conv_output_length(10, 3, "valid", 2, dilation=2) == 3
    assert utils.deconv_output_length(3, 3, "valid", 2) == 7


def test_objects_of_other_classes_become_tensors() -> None:
    class Measure:
        def __init__(self, value: float) -> None:
            self.value = value

    def converted(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        if dtype is tf.string:
            return NotImplemented
        return tf.constant(value.value, dtype or tf.float32, name=name or "measure")

    tf.register_tensor_conversion_function(Measure, converted)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.add(Measure(2.0), 1.0)) == 3.0
        assert tf.convert_to_tensor(Measure(1.0), tf.float64).dtype == tf.float64
        with pytest.raises(TypeError):
            tf.convert_to_tensor(Measure(1.0), tf.string)
    with pytest.raises(TypeError, match="base_type must be a type"):
        tf.register_tensor_conversion_function("Measure", converted)  # type: ignore[arg-type]


def test_functions_are_looked_into() -> None:
    tools, decorators = module("python.util.tf_inspect"), module("python.util.tf_decorator")

    def inner(a: int, b: int = 2, *rest: int, **more: int) -> int:
        """The text."""
        return a + b

    outer = decorators.make_decorator(inner, lambda *args, **kwargs: 2 * inner(*args, **kwargs), "twice")
    assert tools.getargspec(inner) == (["a", "b"], "rest", "more", (2,))
    assert (outer(1), outer.__name__, outer.__doc__) == (6, "inner", "The text.")
    (found,), target = decorators.unwrap(outer)
    assert (found.decorator_name, target) == ("twice", inner)
    assert module("python.util.function_utils").fn_args(inner) == ("a", "b")
    assert module("python.util.function_utils").has_kwargs(inner)
    assert module("python.util.deprecation").deprecated("2030-01-01", "Use another.")(inner) is inner


# -- modules below contrib.PART.python ---------------------------------------------------------

BELOW_CONTRIB = {
    "framework.python.ops": "arg_scope add_arg_scope variables ops",
    "framework.python.ops.arg_scope": "arg_scope has_arg_scope",
    "metrics.python.ops": "set_ops metric_ops",
    "metrics.python.ops.set_ops": "set_size set_union",
    "metrics.python.metrics.classification": "f1_score",
    "layers.python.layers.utils": "get_variable_collections smart_cond",
    "layers.python.layers": "batch_norm utils feature_column_ops",
    "crf.python.ops.crf": "crf_log_likelihood",
    "data.python.ops.batching": "map_and_batch",
    "lookup": "lookup_ops",
    "losses.python.losses.loss_ops": "get_losses",
    "opt.python.training.nadam_optimizer": "NadamOptimizer",
    "training.python.training.hparam": "HParams",
    "legacy_seq2seq.python.ops.seq2seq": "sequence_loss",
    "seq2seq.python.ops.attention_wrapper": "_BaseAttentionMechanism _zero_state_tensors",
    "slim.python.slim.data": "parallel_reader tfexample_decoder",
    "learn.python.learn": "monitored_session run_config",
    "stateless": "stateless_random_normal",
    "distributions.python.ops": "normal categorical bernoulli distribution_util",
    "framework": "deprecated TensorSpec py_func",
}


@for_each("path, names", sorted(BELOW_CONTRIB.items()))
def test_modules_of_contrib_have_the_names_that_programs_import(path: str, names: str) -> None:
    from actorsession.compat.alias import install_alias, remove_alias

    install_alias()
    try:
        for name in names.split():
            assert getattr(importlib.import_module(f"tensorflow.contrib.{path}"), name) is not None
        if path == "framework.python.ops":
            importlib.import_module("tensorflow.contrib.framework.python.ops.arg_scope")
            # The function hides the module of its name.
            assert callable(importlib.import_module(f"tensorflow.contrib.{path}").arg_scope)
    finally:
        remove_alias()


INNER = {
    "python.framework.ops": "_gradient_registry tensor_id NULL_CONTEXT get_stats_for_node_def OpStats",
    "python.ops.control_flow_util": "IsSwitch IsLoopEnter IsMerge",
    "python.ops.gen_bitwise_ops": "bitwise_and",
    "python.ops.gradients_impl": "_IndexedSlicesToTensor gradients_v2",
    "python.ops.init_ops": "_compute_fans",
    "python.ops.nn_impl": "_sum_rows",
    "python.ops.nn_ops": "_get_noise_shape",
    "python.ops.rnn": "_transpose_batch_time _best_effort_input_batch_size _concat",
    "python.ops.rnn_cell_impl": "LayerRNNCell _concat _WEIGHTS_VARIABLE_NAME _linear",
    "python.ops.signal.shape_ops": "frame",
    "python.ops.variable_scope": "_get_default_variable_store _PartitionInfo",
    "python.training.checkpointable.tracking": "AutoTrackable",
    "python.training.optimizer": "_deduplicate_indexed_slices",
    "python.training.summary_io": "SummaryWriter",
    "python.layers.convolutional": "_Conv",
    "python.layers.normalization": "BatchNorm",
    "python.module.module": "Module",
    "python.profiler.option_builder": "ProfileOptionBuilder",
    "python.util.lazy_loader": "LazyLoader",
    "python.util.object_identity": "ObjectIdentitySet",
    "core.profiler.tfprof_log_pb2": "OpLogProto",
}


@for_each("path, names", sorted(INNER.items()))
def test_modules_have_names_that_they_keep_for_themselves(path: str, names: str) -> None:
    for name in names.split():
        assert getattr(module(path), name) is not None


def test_a_program_asks_whether_a_gradient_is_registered() -> None:
    ops = module("python.framework.ops")
    registry = ops._gradient_registry
    assert "Relu" in registry._registry
    assert "GuidedForThisTest" not in registry._registry

    @ops.RegisterGradient("GuidedForThisTest")
    def guided(op: Any, grad: Any) -> Any:
        return grad

    assert "GuidedForThisTest" in registry._registry
    assert "GuidedForThisTest" in registry.list()
    assert callable(registry.lookup("Relu"))
    with pytest.raises(LookupError, match="no entry for: NoSuchType"):
        registry.lookup("NoSuchType")


def test_objects_are_told_apart_by_what_they_are() -> None:
    identity = module("python.util.object_identity")
    one, other = [1], [1]
    members = identity.ObjectIdentitySet([one])
    assert one in members
    assert other not in members
    members.update([other])
    assert len(members) == 2
    members.discard(one)
    assert list(members) == [other]
    table = identity.ObjectIdentityDictionary([(one, "one")])
    table[other] = "other"
    assert table[one] == "one"
    del table[one]
    assert list(table) == [other]
    assert identity.Reference(one) == identity.Reference(one) != identity.Reference(other)


def test_shapes_are_put_together() -> None:
    rnn = module("python.ops.rnn")
    assert rnn._concat(3, tf.TensorShape([2, None]), static=True) == [3, 2, None]
    rows = module("python.ops.nn_impl")._sum_rows(tf.ones([2, 3]))
    values, indices = module("python.training.optimizer")._deduplicate_indexed_slices(
        tf.constant([1.0, 2.0, 4.0]), tf.constant([7, 5, 7])
    )
    with tf.Session() as session:
        assert session.run(rnn._concat(tf.constant(3), [2])).tolist() == [3, 2]
        assert session.run(rows).tolist() == [3.0, 3.0]
        assert [each.tolist() for each in session.run([values, indices])] == [[5.0, 2.0], [7, 5]]


def test_the_classes_of_both_kinds_of_variables_tell_them_apart() -> None:
    kinds = module("python.ops.resource_variable_ops")
    made = kinds.ResourceVariable(1.0, name="made")
    by_default = module("python.ops.variables").RefVariable(1.0, name="by_default")
    assert (made.op.type, by_default.op.type) == ("VarHandleOp", "VariableV2")
    for variable in (made, by_default):
        assert isinstance(variable, tf.Variable)
        assert isinstance(variable, kinds.ResourceVariable) == (variable is made)
        assert isinstance(variable, module("python.ops.variables").RefVariable) != (variable is made)


COMPAT = Path(actorsession.__file__).parent / "compat"


LIST = Path(__file__).with_name("inner_names.txt")


def files() -> list[Path]:
    return sorted(COMPAT.rglob("*.py"))


def below(module: str | None) -> bool:
    return (module or "").split(".")[:2] != ["actorsession", "compat"] and (
        (module or "").split(".")[0] in {"actorsession", "transports"}
    )


def resolved(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    if not hasattr(found, name):
        return importlib.import_module(f"{module}.{name}")
    return getattr(found, name)


def table_of(node: ast.stmt) -> dict[str, str]:
    match node:
        case ast.Assign(targets=[ast.Name(id="_NAMES")], value=ast.Dict(keys=keys, values=values)):
            return {
                str(key.value): str(value.value)
                for key, value in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
            }
    return {}


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """The names that a file takes from modules of the library; those of modules that it imports, too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname: each.name for each in node.names if each.asname and below(each.name)}
        if isinstance(node, ast.ImportFrom) and below(node.module):
            assert node.module is not None
            for each in node.names:
                if each.name == "*":
                    continue  # all that the module promises itself
                if isinstance(resolved(node.module, each.name), ModuleType):
                    modules[each.asname or each.name] = f"{node.module}.{each.name}"
                else:
                    yield node.module, each.name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
                yield modules[name], attr
    for node in tree.body:
        for _, location in read_table("", table_of(node)):
            if below(location.module) and location.attribute:
                yield location.module, location.attribute


def promised() -> tuple[set[int], set[tuple[str, str]]]:
    """What extensions and programs import: objects by identity, and locations for plain values."""
    objects: set[int] = set()
    locations: set[tuple[str, str]] = set()
    todo, seen = [extend, actorsession], set[int]()
    while todo:
        face: Any = todo.pop()
        for name in face.__all__:
            found = getattr(face, name)
            if isinstance(found, ModuleType):
                if id(found) not in seen and hasattr(found, "__all__"):
                    seen.add(id(found))
                    todo.append(found)
            elif callable(found):
                objects.add(id(found))
            locations.add((face.__name__, name))
        table = getattr(face, "_NAMES", {})
        locations |= {(each.module, each.attribute) for _, each in read_table(face.__name__, table)}
    return objects, locations


def inner_names() -> dict[str, set[str]]:
    """The names that ``compat`` uses and nobody promises, by module."""
    objects, locations = promised()
    found: dict[str, set[str]] = defaultdict(set)
    for path in files():
        for module, name in uses(path):
            value = resolved(module, name)
            if (module, name) not in locations and id(value) not in objects and name[:2] != "__":
                found[module].add(name)
    return dict(found)


def listed() -> dict[str, set[str]]:
    lines = (line.partition(": ") for line in LIST.read_text(encoding="utf-8").splitlines())
    return {module: set(names.split()) for module, _, names in lines}


def test_compat_uses_promised_names_and_those_of_a_list_that_has_no_others() -> None:
    """Whoever removes a use takes the name out of the list; a new use asks for a promise in ``extend``."""
    found, known = inner_names(), listed()
    new = {m: names for m in found if (names := found[m] - known.get(m, set()))}
    gone = {m: names for m in known if (names := known[m] - found.get(m, set()))}
    assert (new, gone) == ({}, {})


if __name__ == "__main__":  # writes the list
    LIST.write_text("".join(f"{m}: {' '.join(sorted(names))}\n" for m, names in sorted(inner_names().items())))
