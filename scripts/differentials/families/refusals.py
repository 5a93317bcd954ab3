"""Refused arguments and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan, words

__all__ = ["FAMILIES"]

errors = Family("errors")
FAMILIES = [errors]


_REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "reshape-sizes": lambda tf, np: tf.reshape([1, 2, 3], [2, 2]),
    "matmul-rank": lambda tf, np: tf.matmul([1.0], [2.0]),
    "concat-nothing": lambda tf, np: tf.concat([], 0),
    "stack-nothing": lambda tf, np: tf.stack([]),
    "unknown-dtype": lambda tf, np: tf.constant(1, "float33"),
    "placeholder-dtype": lambda tf, np: tf.placeholder("foo"),
    "placeholder-shape": lambda tf, np: tf.placeholder(tf.float32, [-2]),
    "shape-text": lambda tf, np: tf.zeros("abc"),
    "constant-shape": lambda tf, np: tf.constant([1, 2, 3], shape=[2, 2]),
    "constant-shape-fill": lambda tf, np: tf.constant(7, shape=[2, 2]),
    "constant-of-tensor": lambda tf, np: tf.constant(tf.constant(1)),
    "argmax-axis": lambda tf, np: tf.argmax([1, 2], 3),
    "one-hot-depth": lambda tf, np: tf.one_hot([1], -1),
    "negative-fill": lambda tf, np: tf.fill([-1], 1),
    "range-zero-step": lambda tf, np: tf.range(0, 5, 0),
    "range-wrong-way": lambda tf, np: tf.range(5, 0, 1),
    "linspace-none": lambda tf, np: tf.linspace(0.0, 1.0, -1),
    "add-shapes": lambda tf, np: tf.add(tf.constant([1, 2]), [1, 2, 3]),
    "log-of-int": lambda tf, np: tf.log(3),
    "sum-of-text": lambda tf, np: tf.reduce_sum(["a"]),
    "not-of-int": lambda tf, np: tf.logical_not(1),
    "transpose-rank": lambda tf, np: tf.transpose([1, 2], [0, 1]),
    "expand-axis": lambda tf, np: tf.expand_dims(1, 3),
    "squeeze-large": lambda tf, np: tf.squeeze([[1, 2]], [1]),
    "split-uneven": lambda tf, np: tf.split([1, 2, 3], 2),
    "tile-rank": lambda tf, np: tf.tile([1], [1, 2]),
    "gather-float": lambda tf, np: tf.gather([1, 2], [0.5]),
    "gather-outside": lambda tf, np: tf.gather([1, 2], [5]),
    "cond-no-branch": lambda tf, np: tf.cond(True, None, None),
    "variable-none": lambda tf, np: tf.Variable(None),
    "variable-no-value": lambda tf, np: tf.Variable(),
    "variable-no-shape": lambda tf, np: tf.get_variable("v"),
    "variable-value-and-shape": lambda tf, np: tf.get_variable("v", [2], initializer=tf.constant([1.0, 2.0])),
    "variable-unknown-shape": lambda tf, np: tf.get_variable("v", [None]),
    "identity-none": lambda tf, np: tf.identity(None),
    "group-number": lambda tf, np: tf.group(3),
    "add-n-nothing": lambda tf, np: tf.add_n([]),
    "cast-to-nothing": lambda tf, np: tf.cast(1, None),
    "bool-as-number": lambda tf, np: tf.constant(True) + 1,
    "int-as-bool": lambda tf, np: tf.logical_and(1, True),
    "float-index": lambda tf, np: tf.constant([1, 2])[tf.constant(0.5)],
    "ensure": lambda tf, np: tf.ensure_shape([1, 2], [3]),
    "sparse-ranks": lambda tf, np: tf.SparseTensor([[0, 1]], [1.0], [3]),
    "sparse-dtypes": lambda tf, np: tf.SparseTensor([[0.5]], [1.0], [3]),
    "clip-order": lambda tf, np: tf.clip_by_value([1.0, 5.0], 4.0, 2.0),
    "top-k-many": lambda tf, np: tf.nn.top_k([1.0, 2.0], 3),
    "top-k-scalar": lambda tf, np: tf.nn.top_k(1.0, 1),
    "softmax-int": lambda tf, np: tf.nn.softmax([1, 2]),
    "relu-bool": lambda tf, np: tf.nn.relu([True]),
    "dropout-rate": lambda tf, np: tf.nn.dropout([1.0], rate=1.5),
    "embedding-none": lambda tf, np: tf.nn.embedding_lookup(None, [0]),
    "entropy-no-labels": lambda tf, np: tf.nn.softmax_cross_entropy_with_logits_v2(None, [[1.0]]),
    "entropy-shapes": lambda tf, np: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0]),
    "segment-disorder": lambda tf, np: tf.segment_sum([1, 2, 3], [1, 0, 2]),
    "segment-negative": lambda tf, np: tf.segment_sum([1, 2], [-1, 0]),
    "pad-negative": lambda tf, np: tf.pad([1, 2], [[-1, 0]]),
    "pad-rank": lambda tf, np: tf.pad([1, 2], [[1, 0], [0, 1]]),
    "reverse-twice": lambda tf, np: tf.reverse([[1]], [0, 0]),
    "roll-axes": lambda tf, np: tf.roll([1, 2], [1, 2], [0]),
    "slice-rank": lambda tf, np: tf.slice([1, 2], [0, 0], [1, 1]),
    "where-rank": lambda tf, np: tf.where([True], [1, 2], [3, 4]),
    "diag-scalar": lambda tf, np: tf.diag(1),
    "diag-part": lambda tf, np: tf.diag_part([[1, 2]]),
    "cross-two": lambda tf, np: tf.cross([1.0, 2.0], [1.0, 2.0]),
    "meshgrid-none": lambda tf, np: tf.meshgrid(),
    "sequence-text": lambda tf, np: tf.sequence_mask(["a"]),
    "unknown-keyword": lambda tf, np: tf.constant(1, foo=2),
    "missing-argument": lambda tf, np: tf.add(1),
    "gradients-other-graph": lambda tf, np: tf.gradients(1, 2),
    "shape-attribute": lambda tf, np: tf.constant(1).shape.foo,
    "name-number": lambda tf, np: tf.constant(1, name=3),
    "py-func-dtype": lambda tf, np: tf.py_func(lambda: "a", [], tf.float32),
    "py-func-raises": lambda tf, np: tf.py_func(lambda: [][1], [], tf.float32),
    "py-func-value-error": lambda tf, np: tf.py_func(lambda: int("x"), [], tf.int64),
    "py-func-number": lambda tf, np: tf.py_func(lambda: (1.0, 2.0), [], [tf.float64]),
    "op-type": lambda tf, np: tf.constant(1).op.get_attr("nothing"),
    "set-shape": lambda tf, np: tf.constant([1, 2]).set_shape([3]),
    "eval-placeholder": lambda tf, np: tf.placeholder(tf.float32) + 1,
    "unstack-unknown": lambda tf, np: tf.unstack(tf.placeholder(tf.float32)),
    "assign-constant": lambda tf, np: tf.assign(tf.constant(1), 2),
    "batch-to-space": lambda tf, np: tf.batch_to_space_nd(np.ones((3, 2, 1)), [2], [[0, 0]]),
    "space-to-depth": lambda tf, np: tf.space_to_depth(np.ones((1, 3, 3, 1)), 2),
    "bincount-negative": lambda tf, np: tf.bincount([-1, 2]),
    "histogram-range": lambda tf, np: tf.histogram_fixed_width([1.0], [2.0, 1.0]),
    "lookup-device": lambda tf, np: tf.device(3).__enter__(),
    "invalid-scope": lambda tf, np: tf.variable_scope(3).__enter__(),
    "variable-scope-none": lambda tf, np: tf.variable_scope(None).__enter__(),
    "conv-strides": lambda tf, np: tf.nn.conv2d(
        np.ones((1, 3, 3, 1), "float32"), np.ones((2, 2, 1, 1), "float32"), [2, 1, 1, 1], "SAME"
    ),
    "conv-rank": lambda tf, np: tf.nn.conv2d(
        np.ones((3, 3, 1), "float32"), np.ones((2, 2, 1, 1), "float32"), 1, "SAME"
    ),
    "check-numerics": lambda tf, np: tf.check_numerics([1.0, np.nan], "seen"),
    "assert": lambda tf, np: tf.Assert(False, ["why", 1]),
}
errors.each(_REFUSED)


@errors("session-target")
def _target(tf: Any, np: Any) -> Any:
    return tf.Session("nonsense://x:1")


@errors("session-config")
def _config(tf: Any, np: Any) -> Any:
    return tf.Session(config={"a": 1})


@errors("session-graph")
def _graph(tf: Any, np: Any) -> Any:
    return tf.Session(graph=3)


@errors("mixed-graphs")
def _mixed(tf: Any, np: Any) -> Any:
    with tf.Graph().as_default():
        other = tf.constant(1)
    return other + tf.constant(2)


_CLASSES = words(
    """
    AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError
    FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError
    PermissionDeniedError ResourceExhaustedError UnauthenticatedError UnavailableError
    UnimplementedError UnknownError
    """
)


@errors("error-classes")
def _classes(tf: Any, np: Any) -> Plan:
    return Plan(facts=[issubclass(getattr(tf.errors, name), tf.errors.OpError) for name in _CLASSES])
