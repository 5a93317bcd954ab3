"""Graphs, shapes, dtypes and tensors as objects; their collections, and the names that scopes give."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from scripts.differentials.program import Family, Plan, words

__all__ = ["FAMILIES"]

graphs = Family("graphs")


@graphs("shapes")
def _shapes(tf: Any, np: Any) -> Plan:
    a, b, unknown = tf.TensorShape([2, None]), tf.TensorShape([None, 3]), tf.TensorShape(None)
    return Plan(
        facts=[
            [a.merge_with(b).as_list(), a.is_compatible_with(b), a.concatenate(b).as_list(), unknown.rank],
            [unknown.is_compatible_with([1]), len(a), a.with_rank(2).as_list(), a.as_list() == [2, None]],
            [tf.TensorShape([]).as_list(), tf.TensorShape(5).as_list(), a[:1].as_list(), a.dims is not None],
            [tf.TensorShape([2]) == tf.TensorShape([2])],
        ]
    )


@graphs("shape-elements")
def _defined(tf: Any, np: Any) -> Plan:
    shapes = [tf.TensorShape(dims) for dims in ([2, 3], [2, None], None)]
    return Plan(facts=[[shape.is_fully_defined(), shape.num_elements()] for shape in shapes])


_SHAPE_FAULTS: dict[str, Callable[[Any], Any]] = {
    "merge": lambda tf: tf.TensorShape([2]).merge_with([3]),
    "rank": lambda tf: tf.TensorShape([2]).with_rank(2),
    "length": lambda tf: len(tf.TensorShape(None)),
    "negative": lambda tf: tf.TensorShape([-2]),
    "text": lambda tf: tf.TensorShape(["a"]),
    "as-list": lambda tf: tf.TensorShape(None).as_list(),
    "compatible": lambda tf: tf.TensorShape([2]).assert_is_compatible_with([3]),
    "defined": lambda tf: tf.TensorShape([None]).assert_is_fully_defined(),
    "fraction": lambda tf: tf.TensorShape([1.5]),
    "at-least": lambda tf: tf.TensorShape([1]).with_rank_at_least(2),
    "index": lambda tf: tf.TensorShape([1])[4],
}
graphs.over("shape-{fault}", lambda tf, np, fault: Plan(facts=str(fault(tf))), fault=_SHAPE_FAULTS)


_PARTS = words("name is_floating is_integer is_bool is_complex size is_unsigned")


@graphs("dtypes")
def _dtypes(tf: Any, np: Any) -> Plan:
    kinds = [tf.float32, tf.int64, tf.bool, tf.string, tf.complex64, tf.uint8, tf.float16, tf.bfloat16]
    return Plan(facts=[[kind == tf.as_dtype(kind.name), *(getattr(kind, part) for part in _PARTS)] for kind in kinds])


@graphs("dtype-limits")
def _limits(tf: Any, np: Any) -> Plan:
    kinds = [tf.int8, tf.int32, tf.uint16, tf.int64]
    return Plan(facts=[[int(kind.min), int(kind.max), list(kind.limits)] for kind in kinds])


graphs.add(
    "texts",
    lambda tf, np: Plan(
        facts=[str(tf.TensorShape([2, None])), str(tf.TensorShape(None)), str(tf.float32), repr(tf.int64)]
    ),
)


_FORMS: dict[str, Any] = {
    **{name: name for name in ("float", "double", "half")},
    **{f"python-{kind.__name__}": kind for kind in (float, int, bool, str, complex)},
    "number": 1,
    "unknown": "float33",
    "none": None,
    "object": object,
    "bytes": bytes,
}
_NUMPY_FORMS = {"numpy": "float32", "numpy-dtype": "int8", "big-endian": ">i4", "text": "U3"}
graphs.over("dtype-of-{form}", lambda tf, np, form: Plan(facts=tf.as_dtype(form).name), form=_FORMS)
graphs.over("dtype-of-{form}", lambda tf, np, form: Plan(facts=tf.as_dtype(np.dtype(form)).name), form=_NUMPY_FORMS)


graphs.add(
    "dtype-numbers", lambda tf, np: Plan(facts=[kind.as_datatype_enum for kind in (tf.float32, tf.int64, tf.string)])
)


@graphs("dtype-base")
def _base(tf: Any, np: Any) -> Plan:
    found = [tf.float32.base_dtype, tf.float32.real_dtype, tf.complex64.real_dtype, np.dtype(tf.float64.as_numpy_dtype)]
    return Plan(facts=[*[each.name for each in found], tf.float32.is_compatible_with(tf.float32)])


@graphs("tensors")
def _tensors(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, tf.ones([3, 2]), name="y")
    y.set_shape([4, None])
    return Plan(
        facts=[
            [y.shape.as_list(), y.get_shape().as_list(), y.name, y.op.name, y.dtype.name, y.graph is x.graph],
            [[each.name for each in y.op.inputs], [op.name for op in x.consumers()], y.op.type, len(y.op.outputs)],
            [y.op.node_def.op, y.op.get_attr("transpose_a"), y.value_index],
        ]
    )


@graphs("static-values")
def _static(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [2, None])
    asked = [
        [tf.constant([1, 2]), tf.shape(tf.zeros([2, 3])), tf.shape(x), tf.shape(x)[0], tf.range(3)],
        [tf.stack([1, 2]), tf.size(tf.zeros([2, 3])), tf.rank(x), tf.fill([2], 5)],
        [tf.cast(tf.constant(3), tf.float32), x, tf.concat([[1], [2]], 0), tf.constant(1) + 2, tf.zeros([2])],
    ]
    found = [tf.get_static_value(each) for row in asked for each in row]
    return Plan(facts=[None if each is None else np.asarray(each).tolist() for each in found])


_NODES: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "mean": lambda tf, x: tf.reduce_mean(x, 1),
    "clip": lambda tf, x: tf.clip_by_value(x, 0, 1),
    "split": lambda tf, x: tf.split(x, 2, 1),
    "index": lambda tf, x: x[0, 1:],
    "std": lambda tf, x: tf.nn.moments(x, [0]),
    "norm": lambda tf, x: tf.nn.l2_normalize(x, 1),
    "dropout": lambda tf, x: tf.nn.dropout(x, rate=0.5),
    "entropy": lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
    "loss": lambda tf, x: tf.losses.mean_squared_error(x, x),
    "one-hot": lambda tf, x: tf.one_hot(tf.argmax(x, 1), 3),
    "where": lambda tf, x: tf.where(x > 0, x, -x),
    "stack": lambda tf, x: tf.stack([x, x], 1),
    "linspace": lambda tf, x: tf.range(tf.shape(x)[0]),
    "mask": lambda tf, x: tf.boolean_mask(x, x > 0),
    "batch-norm": lambda tf, x: tf.nn.batch_normalization(x, x, x, None, None, 1e-3),
    "gradient": lambda tf, x: tf.gradients(tf.reduce_sum(tf.tanh(x) * x), x),
    "random": lambda tf, x: tf.random_normal([2], 1.0, 2.0),
    "uniform": lambda tf, x: tf.random_uniform([2], 1.0, 2.0),
    "logsumexp": lambda tf, x: tf.reduce_logsumexp(x),
    "ones-like": lambda tf, x: tf.ones_like(x),
    "variable": lambda tf, x: tf.Variable([1.0, 2.0], name="v"),
    "get-variable": lambda tf, x: tf.get_variable("v", [2, 3]),
    "assign": lambda tf, x: tf.assign_add(tf.Variable(1.0), 2.0),
    "sgd": lambda tf, x: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.Variable([1.0, 2.0]) ** 2)),
    "mean-of-squares": lambda tf, x: tf.reduce_mean(tf.square(x - 1.0)),
    "layer": lambda tf, x: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.ones([4, 3])), tf.zeros([3]))),
}


@graphs("nodes-of-{make}", make=_NODES)
def _nodes(tf: Any, np: Any, make: Callable[[Any, Any], Any]) -> Plan:
    make(tf, tf.placeholder(tf.float32, [2, 4], name="x"))
    return Plan(facts=[[op.name, op.type] for op in tf.get_default_graph().get_operations()], initialize=False)


collections = Family("collections")


_KEYS = words(
    """
    GLOBAL_VARIABLES TRAINABLE_VARIABLES LOCAL_VARIABLES MODEL_VARIABLES UPDATE_OPS LOSSES
    MOVING_AVERAGE_VARIABLES REGULARIZATION_LOSSES GLOBAL_STEP SUMMARIES QUEUE_RUNNERS
    TABLE_INITIALIZERS INIT_OP LOCAL_INIT_OP READY_OP ACTIVATIONS WEIGHTS BIASES
    CONCATENATED_VARIABLES SAVERS COND_CONTEXT WHILE_CONTEXT
    """
)
collections.add("keys", lambda tf, np: Plan(facts=[getattr(tf.GraphKeys, key) for key in _KEYS]))


@collections("of-variables")
def _of_variables(tf: Any, np: Any) -> Plan:
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", trainable=False)
    tf.Variable(1.0, name="c", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.get_local_variable("d", [1])
    tf.Variable(1.0, name="e", collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    lists = [tf.global_variables(), tf.trainable_variables(), tf.local_variables(), tf.get_collection("mine")]
    return Plan(facts=[[v.name for v in found] for found in lists])


@collections("own")
def _own(tf: Any, np: Any) -> Plan:
    tf.add_to_collection("a", 1)
    tf.add_to_collections(["a", "b"], 2)
    kept = tf.get_collection("a")
    kept.append(9)
    tf.get_collection_ref("b").append(3)
    graph = tf.get_default_graph()
    facts = [
        [tf.get_collection("a"), tf.get_collection("b"), tf.get_collection("none")],
        [sorted(graph.get_all_collection_keys())],
    ]
    graph.clear_collection("a")
    return Plan(facts=[*facts, tf.get_collection("a")])


@collections("by-scope")
def _by_scope(tf: Any, np: Any) -> Plan:
    for scope in ("one", "two", "one_more"):
        with tf.variable_scope(scope):
            tf.get_variable("v", [1])
            tf.get_variable("frozen", [1], trainable=False)
    asked, key = ["one", "one/", "t", ".*more", "v", "x", None], tf.GraphKeys.GLOBAL_VARIABLES
    found = [*(tf.get_collection(key, scope) for scope in asked), *map(tf.trainable_variables, asked)]
    return Plan(facts=[[v.name for v in some] for some in found])


@collections("finalized")
def _finalized(tf: Any, np: Any) -> Any:
    tf.get_default_graph().finalize()
    return tf.constant(1)


@collections("lookups")
def _lookups(tf: Any, np: Any) -> Plan:
    a = tf.constant([1, 2], name="a")
    graph = tf.get_default_graph()
    return Plan(
        facts=[
            [graph.get_tensor_by_name("a:0") is a, graph.get_operation_by_name("a") is a.op],
            [graph.as_graph_element("a").name, graph.as_graph_element("a:0").name, a.op.type, a.value_index],
            [[each.name for each in (a + 1).op.inputs], a.op.get_attr("dtype").name, len(a.consumers())],
        ]
    )


@collections("{kind}-by-name-{name}", kind=("tensor", "operation"), name=("b:0", "a", "a:1", "a:x", ":0", "a:0:0"))
def _by_name(tf: Any, np: Any, kind: str, name: str) -> Plan:
    graph = tf.constant(1, name="a").graph
    return Plan(facts=getattr(graph, f"get_{kind}_by_name")(name).name)


scopes = Family("scopes")


_NAMED: dict[str, Callable[[Any], list[Any]]] = {
    "twice": lambda tf: [tf.constant(1), tf.constant(2), tf.constant(3, name="Const")],
    "own": lambda tf: [tf.constant(1, name="a"), tf.constant(1, name="a"), tf.constant(1, name="a_1")],
    "case": lambda tf: [tf.constant(1, name="a"), tf.constant(1, name="A")],
    "placeholders": lambda tf: [tf.placeholder(tf.float32), tf.placeholder(tf.float32, name="x")],
    "arithmetic": lambda tf: [tf.constant(1.0) + 2.0, tf.add(1.0, 2.0), tf.constant(2.0) * 3.0 - 1.0],
    "reductions": lambda tf: [tf.reduce_sum([1.0]), tf.reduce_mean([1.0]), tf.reduce_max([1.0], name="m")],
    "layers": lambda tf: [tf.nn.relu([1.0]), tf.nn.softmax([1.0]), tf.sigmoid([1.0]), tf.tanh([1.0])],
    "shapes": lambda tf: [tf.reshape([1.0], [1]), tf.transpose([[1.0]]), tf.expand_dims(1.0, 0), tf.squeeze([1.0])],
    "stacks": lambda tf: [tf.stack([1, 2]), tf.concat([[1], [2]], 0), *tf.unstack([1, 2]), *tf.split([1, 2], 2)],
    "casts": lambda tf: [tf.cast(1, tf.float32), tf.to_float(1), tf.identity(1.0), tf.stop_gradient(1.0)],
    "comparisons": lambda tf: [tf.constant(1) < 2, tf.equal(1, 2), tf.logical_and(True, False), tf.argmax([1])],
    "entropy": lambda tf: [
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[1.0]], logits=[[2.0]]),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[2.0]),
    ],
    "fills": lambda tf: [tf.zeros([2]), tf.ones([2]), tf.fill([2], 1), tf.zeros_like([1.0]), tf.ones_like([1])],
    "ranges": lambda tf: [tf.range(3), tf.linspace(0.0, 1.0, 3), tf.shape([1]), tf.size([1]), tf.rank([1])],
    "slices": lambda tf: [tf.constant([1, 2])[0], tf.slice([1, 2], [0], [1]), tf.gather([1, 2], 0), tf.one_hot(1, 2)],
    "others": lambda tf: [
        *[tf.tile([1], [2]), tf.pad([1], [[1, 1]]), tf.where([True], [1], [2]), tf.add_n([1, 2])],
        *[tf.matmul([[1.0]], [[1.0]]), tf.clip_by_value(1.0, 0.0, 2.0), tf.squared_difference(1.0, 2.0)],
    ],
    "norms": lambda tf: [
        tf.nn.l2_normalize([1.0], 0),
        tf.nn.moments(tf.constant([[1.0]]), [0])[0],
        tf.nn.l2_loss([1.0]),
    ],
    "functions": lambda tf: [
        *[f(1.0) for f in (tf.exp, tf.log, tf.sqrt, tf.square, tf.abs, tf.round, tf.floor, tf.sign, tf.negative)],
        *[-tf.constant(1.0), tf.pow(1.0, 2.0), tf.maximum(1.0, 2.0)],
    ],
}


@scopes("names-{make}-{scope}", make=_NAMED, scope={"plain": "", "in-scope": "outer", "in-literal-scope": "outer/"})
def _in_scope(tf: Any, np: Any, make: Callable[[Any], list[Any]], scope: str) -> Plan:
    with tf.name_scope(scope) if scope else nullcontext():
        return Plan(facts=[[each.name, each.op.type] for each in make(tf)])


@scopes("nested")
def _nested(tf: Any, np: Any) -> Plan:
    out = []
    with tf.name_scope("a") as a:
        with tf.name_scope("b") as b:
            out.append(tf.constant(1).name)
        with tf.name_scope("b"):
            out.append(tf.constant(1).name)
        with tf.name_scope(None), tf.name_scope("c"):
            out.append(tf.constant(1).name)
    with tf.name_scope(a):
        out.append(tf.constant(1).name)
    with tf.name_scope("a"):
        out.append(tf.constant(1).name)
    graph = tf.get_default_graph()
    return Plan(facts=[a, b, out, graph.unique_name("a"), [op.name for op in graph.get_operations()]])


_BAD = {ascii(bad)[1:-1].replace(" ", "~"): bad for bad in ("a b", "-a", "", "a//b", "ä", "a:0", ".a", "_a")}
scopes.over("name-{bad}-of-a-node", lambda tf, np, bad: Plan(facts=tf.constant(1, name=bad).name), bad=_BAD)


@scopes("name-{bad}-of-a-scope", bad=_BAD)
def _bad_scope(tf: Any, np: Any, bad: str) -> Plan:
    with tf.name_scope(bad) as scope:
        return Plan(facts=[scope, tf.constant(1).name])


@scopes("reuse-{reuse}{of}", reuse=(None, False, True, "auto"), of={"": "v", "-of-nothing": "fresh"})
def _reused(tf: Any, np: Any, reuse: Any, of: str) -> Plan:
    with tf.variable_scope("s"):
        a = tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE if reuse == "auto" else reuse):
        b = tf.get_variable(of, [2])
    return Plan(facts=[a.name, b.name, a is b])


@scopes("variable-scopes-nested")
def _variable_scopes(tf: Any, np: Any) -> Plan:
    out = []
    with tf.variable_scope("a") as a:
        with tf.variable_scope("b") as b:
            out += [tf.get_variable("v", [1]).name, tf.constant(1).name, b.name, b.original_name_scope]
        with tf.variable_scope("b"):
            out += [tf.get_variable("w", [1]).name, tf.constant(1).name]
    with tf.variable_scope(a, reuse=True):
        out += [tf.get_variable("b/v", [1]).name, tf.constant(1).name]
    with tf.variable_scope(a, auxiliary_name_scope=False):
        out += [tf.constant(1).name, tf.Variable(1.0).name, tf.Variable(1.0, name="v").name]
    return Plan(facts=[*out, tf.get_variable_scope().name])


@scopes("variable-scope-default-names")
def _default_names(tf: Any, np: Any) -> Plan:
    out = []
    for _ in range(3):
        with tf.variable_scope(None, default_name="layer"):
            out += [tf.get_variable("v", [1]).name, tf.constant(1).name]
    return Plan(facts=out)


@scopes("variable-scope-settings")
def _settings(tf: Any, np: Any) -> Plan:
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0), dtype=tf.float64) as scope:
        v = tf.get_variable("v", [2])
        scope.reuse_variables()
        return Plan([v, tf.get_variable("v", [2])], facts=[scope.reuse, v.dtype.name.removesuffix("_ref")])


@scopes("get-variable-wrong-{wrong}", wrong=("shape", "dtype", "none", "no-shape"))
def _wrong_reuse(tf: Any, np: Any, wrong: str) -> Plan:
    with tf.variable_scope("s"):
        tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=True):
        if wrong == "shape":
            tf.get_variable("v", [3])
        elif wrong == "dtype":
            tf.get_variable("v", [2], tf.int32)
        elif wrong == "none":
            return Plan(facts=tf.get_variable("v").name)
    with tf.variable_scope("t"):
        return Plan(facts=tf.get_variable("v").name)


@scopes("custom-getter")
def _getter(tf: Any, np: Any) -> Plan:
    def getter(get: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return get(f"{name}_mine", *args, **kwargs) * 2.0

    with tf.variable_scope("s", custom_getter=getter):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
    return Plan([v, *tf.global_variables()], facts=[each.name for each in tf.global_variables()])


@scopes("regularizer")
def _regularizer(tf: Any, np: Any) -> Plan:
    with tf.variable_scope("s", regularizer=lambda v: tf.reduce_sum(v * v)):
        tf.get_variable("v", initializer=[1.0, 2.0])
        tf.get_variable("w", initializer=[3.0], regularizer=tf.no_regularizer)
    found = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return Plan(found, facts=len(found), names=True)


@scopes("variables-of-the-same-name")
def _same_name(tf: Any, np: Any) -> Plan:
    with tf.name_scope("n"):
        a, b = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v")
        c = tf.get_variable("v", initializer=1.0)
    return Plan(facts=[each.name for each in (a, b, c)])


FAMILIES = [graphs, collections, scopes]
