"""Forms of fetches and feeds, partial runs, devices, and refused arguments with their errors."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan, Step, words

__all__ = ["FAMILIES"]

fetches = Family("fetches")
feeds = Family("feeds")


Pair = collections.namedtuple("Pair", ["first", "second"])

_FETCHES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor": lambda tf, a, v: a,
    "operation": lambda tf, a, v: a.op,
    "name": lambda tf, a, v: "a:0",
    "operation-name": lambda tf, a, v: "a",
    "bytes": lambda tf, a, v: b"a:0",
    "variable": lambda tf, a, v: v,
    "list": lambda tf, a, v: [a, v],
    "tuple": lambda tf, a, v: (a, a.op),
    "named-tuple": lambda tf, a, v: Pair(a, v),
    "dict": lambda tf, a, v: {"y": a, "x": v},
    "ordered": lambda tf, a, v: collections.OrderedDict([("y", a), ("x", v)]),
    "nested": lambda tf, a, v: {"k": [a, (v, {"z": a.op})], "e": []},
    "empty-list": lambda tf, a, v: [],
    "empty-dict": lambda tf, a, v: {},
    "empty-tuple": lambda tf, a, v: (),
    "twice": lambda tf, a, v: [a, a, "a:0"],
    "none": lambda tf, a, v: None,
    "number": lambda tf, a, v: 3,
    "list-with-none": lambda tf, a, v: [a, None],
    "array": lambda tf, a, v: [1.0, 2.0],
    "set": lambda tf, a, v: {1, 2},
    "unknown-name": lambda tf, a, v: "b:0",
    "unknown-operation": lambda tf, a, v: "b",
    "no-such-output": lambda tf, a, v: "a:1",
    "malformed": lambda tf, a, v: "a:b",
    "empty-text": lambda tf, a, v: "",
    "class": lambda tf, a, v: int,
    "generator": lambda tf, a, v: (x for x in [a]),
    "default-dict": lambda tf, a, v: collections.defaultdict(list, {"q": a}),
    "variable-list": lambda tf, a, v: [[v], [[v]]],
    "initializer": lambda tf, a, v: v.initializer,
    "dict-of-numbers": lambda tf, a, v: {1: a, 2: v},
    "strings": lambda tf, a, v: ["a:0", "a"],
    "sparse": lambda tf, a, v: tf.SparseTensor([[0]], a[:1], [3]),
    "slices": lambda tf, a, v: tf.IndexedSlices(a, tf.constant([1, 0])),
    "scalar-of-text": lambda tf, a, v: tf.constant("x"),
    "vector-of-text": lambda tf, a, v: tf.constant(["x", "yy"]),
    "bool-scalar": lambda tf, a, v: tf.constant(True),
    "half": lambda tf, a, v: tf.constant(1.5, tf.float16),
    "bfloat16": lambda tf, a, v: tf.constant([1.5], tf.bfloat16),
    "complex": lambda tf, a, v: tf.constant(1 + 2j),
    "empty-array": lambda tf, a, v: tf.zeros([0, 3]),
    "deep": lambda tf, a, v: [[[[a]]], ((v,),)],
    "uint64": lambda tf, a, v: tf.constant(2**63, tf.uint64),
}


@fetches("{fetch}", fetch=_FETCHES)
def _fetched(tf: Any, np: Any, fetch: Any) -> Plan:
    a, v = tf.constant([1.0, 2.0], name="a"), tf.Variable(3, name="v")
    return Plan(steps=[Step(fetch(tf, a, v))])


@fetches("of-another-graph")
def _other_graph(tf: Any, np: Any) -> Plan:
    with tf.Graph().as_default():
        other = tf.constant(1)
    tf.constant(2)
    return Plan(steps=[Step(other), Step([other.op])])


fetches.add("of-an-empty-graph", lambda tf, np: Plan(steps=[Step([]), Step("a:0")]))


@fetches("fed-and-fetched")
def _fed_and_fetched(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [None])
    return Plan(steps=[Step([x, x + 1], {x: [1, 2]}), Step(x, {x: [3]}), Step(x.op, {x: [3]})])


@fetches("only-what-is-needed")
def _needed(tf: Any, np: Any) -> Plan:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(0)
    y, unused = tf.constant(1.0) + 1, x * 2
    v.assign_add(1)
    return Plan(steps=[Step(y), Step(v), Step(unused)])


@fetches("marked-unfetchable")
def _unfetchable(tf: Any, np: Any) -> Plan:
    a = tf.constant(1)
    tf.get_default_graph().prevent_fetching(a.op)
    return Plan(steps=[Step(a), Step(a.op), Step(a + 1)])


@fetches("from-inside-a-branch")
def _inside(tf: Any, np: Any) -> Plan:
    kept: list[Any] = []

    def branch() -> Any:
        kept.append(tf.constant(5) * 2)
        return kept[-1]

    tf.cond(tf.constant(True), branch, lambda: tf.constant(1))
    return Plan(steps=[Step(kept[0])])


@fetches("of-a-closed-session")
def _closed(tf: Any, np: Any) -> Plan:
    a = tf.constant(1)

    def drive(session: Any) -> Any:
        return [session.close, lambda: session.run(a), session.close, lambda: a.eval(session=session)]

    return Plan(drive=drive)


@fetches("eval-without-a-session")
def _eval(tf: Any, np: Any) -> Any:
    return Plan(facts=repr(tf.constant(1).eval()))


@fetches("eval-forms")
def _evals(tf: Any, np: Any) -> Plan:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(2.0)
    up = v.assign_add(1.0)

    def drive(session: Any) -> Any:
        return [lambda: (x * 2).eval({x: 3.0}, session), lambda: up.op.run(session=session), lambda: v.eval(session)]

    return Plan(drive=drive)


@fetches("callable")
def _callable(tf: Any, np: Any) -> Plan:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])

    def drive(session: Any) -> Any:
        both = session.make_callable([x + y, x * y], feed_list=[x, y])
        return [lambda: both(2.0, 3.0), lambda: both(2.0), lambda: both(1.0, 2.0, 3.0), lambda: both([1.0], 2.0)]

    return Plan(drive=drive)


_FEEDS: dict[str, tuple[str, Any, Any]] = {
    "list": ("float32", [2], [1, 2]),
    "tuple": ("float32", [2], (1.5, 2)),
    "scalar": ("float32", [], 3),
    "nested": ("int32", [None, 2], [[1, 2], [3, 4]]),
    "ragged": ("int32", None, [[1], [2, 3]]),
    "wrong-shape": ("float32", [2], [1, 2, 3]),
    "wrong-rank": ("float32", [2], 1.0),
    "any-shape": ("float32", None, [[1]]),
    "fraction-to-int": ("int32", [], 2.9),
    "text-of-digits": ("int32", [], "12"),
    "text": ("float32", [], "abc"),
    "none": ("float32", [], None),
    "none-to-int": ("int32", [], None),
    "large": ("int32", [], 2**40),
    "negative-to-unsigned": ("uint8", [], -1),
    "bool-to-float": ("float32", [2], [True, False]),
    "number-to-bool": ("bool", [2], [3, 0]),
    "complex-to-float": ("float32", [], 1 + 2j),
    "bytes": ("string", [], b"ab"),
    "text-to-text": ("string", [2], ["a", "ä"]),
    "number-to-text": ("string", [], 5),
    "nan": ("float32", [], float("nan")),
    "empty": ("float32", [None], []),
    "empty-to-fixed": ("float32", [2], []),
    "half": ("float16", [], 1e-8),
    "overflow": ("float16", [], 1e6),
    "list-of-large": ("int8", [None], [1, 300]),
    "dict": ("float32", [], {"a": 1}),
    "bfloat16": ("bfloat16", [2], [1.0, 2.5]),
    "uint64": ("uint64", [], 2**63),
    "range": ("int32", [3], range(3)),
    "set": ("float32", None, {1.0}),
    "bytearray": ("string", [], bytearray(b"ab")),
    "complex": ("complex64", [], 1),
}


@feeds("{feed}", feed=_FEEDS)
def _fed(tf: Any, np: Any, feed: tuple[str, Any, Any]) -> Plan:
    dtype, shape, value = feed
    x = tf.placeholder(dtype, shape)
    return Plan(tf.identity(x), {x: value})


@feeds("array-of-{dtype}", dtype=("int8", "int64", "float16", "float64", "bool", "uint8", "complex128"))
def _array_fed(tf: Any, np: Any, dtype: str) -> Plan:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(dtype, [None])
    return Plan(
        steps=[
            Step(tf.identity(x), {x: np.array([1, 0], dtype)}),
            Step(y, {y: np.array([1.0, 0.0])}),
            Step(tf.identity(y), {y: np.array([1.5, 0.0], "float32")}),
        ]
    )


_KEYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "name": lambda tf, x, y: {"x:0": 1.0, "y:0": 2.0},
    "bytes": lambda tf, x, y: {b"x:0": 1.0, y: 2.0},
    "tuple": lambda tf, x, y: {(x, y): (1.0, 2.0)},
    "nested-tuple": lambda tf, x, y: {(x, (y,)): (1.0, (2.0,))},
    "tuple-wrong-length": lambda tf, x, y: {(x, y): (1.0,)},
    "operation": lambda tf, x, y: {x.op: 1.0, y: 2.0},
    "operation-name": lambda tf, x, y: {"x": 1.0, y: 2.0},
    "number": lambda tf, x, y: {1: 1.0},
    "unknown": lambda tf, x, y: {"z:0": 1.0},
    "missing": lambda tf, x, y: {x: 1.0},
    "nothing": lambda tf, x, y: {},
    "none": lambda tf, x, y: None,
    "tensor-value": lambda tf, x, y: {x: tf.constant(1.0), y: 2.0},
    "intermediate": lambda tf, x, y: {"sum:0": 7.0},
    "same-twice": lambda tf, x, y: {x: 1.0, "x:0": 5.0, y: 1.0},
    "not-a-dict": lambda tf, x, y: [(x, 1.0)],
    "text-key-to-other": lambda tf, x, y: {"sum": 1.0},
}


@feeds("key-{key}", key=_KEYS)
def _keyed(tf: Any, np: Any, key: Any) -> Plan:
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    total = tf.add(x, y, name="sum")
    return Plan(steps=[Step(total * 10, key(tf, x, y)), Step([total, x], {x: 1.0, y: 1.0})])


@feeds("default-of-a-placeholder")
def _default(tf: Any, np: Any) -> Plan:
    x = tf.placeholder_with_default([1.0, 2.0], [None])
    return Plan(x, steps=[Step(x * 2), Step(x * 2, {x: [5.0]}), Step(x, {x: [[1.0]]})])


@feeds("constant")
def _constant(tf: Any, np: Any) -> Plan:
    a = tf.constant([1.0, 2.0])
    return Plan(steps=[Step(a * 2, {a: [5.0, 6.0]}), Step(a * 2), Step(a * 2, {a: [5.0]})])


@feeds("marked-unfeedable")
def _unfeedable(tf: Any, np: Any) -> Plan:
    a = tf.constant(1.0)
    tf.get_default_graph().prevent_feeding(a)
    return Plan(steps=[Step(a + 1, {a: 2.0}), Step(a + 1)], facts=tf.get_default_graph().is_feedable(a))


@feeds("one-output-of-two")
def _one_output(tf: Any, np: Any) -> Plan:
    first, second = tf.split(tf.constant([1.0, 2.0]), 2)
    return Plan(steps=[Step([first + 1, second + 1], {first: [10.0]})])


partial = Family("partial-runs")
devices = Family("devices")

# --- partial runs

# The calls, each with what it fetches and feeds, of three placeholders, the sum of two, and its product with the third.
_PARTIAL: dict[str, list[tuple[Any, dict[int, Any]]]] = {
    "two-halves": [(3, {0: 1, 1: 2}), (4, {2: 10})],
    "feed-twice": [(3, {0: 1, 1: 2}), (4, {0: 1, 2: 2})],
    "fetch-twice": [(3, {0: 1, 1: 2}), (3, {})],
    "too-early": [(4, {0: 1, 1: 2})],
    "feed-only": [([], {0: 1, 1: 2}), ([3, 4], {2: 3})],
    "all-at-once": [([4, 3], {0: 1, 1: 2, 2: 3})],
    "unknown-feed": [(3, {3: 1.0})],
    "unknown-fetch": [(2, {0: 1})],
    "no-feed": [(3, {})],
    "wrong-shape": [(3, {0: [1], 1: 2})],
    "wrong-handle": [(3, {0: 1, 1: 2})],
    "after-the-end": [([4, 3], {0: 1, 1: 2, 2: 3}), (3, {})],
    "structure": [({"x": [3]}, {0: 1, 1: 2})],
}


@partial("{calls}", calls={name: (name, calls) for name, calls in _PARTIAL.items()})
def _partly(tf: Any, np: Any, calls: Any) -> Plan:
    name, asked = calls
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    nodes = [a, b, c, a + b, (a + b) * c]

    def those(places: Any) -> Any:
        if isinstance(places, dict):
            return {key: those(each) for key, each in places.items()}
        return [those(each) for each in places] if isinstance(places, list) else nodes[places]

    def drive(session: Any) -> Any:
        handle = session.partial_run_setup(nodes[3:], nodes[:3])
        handle = "nothing" if name == "wrong-handle" else handle
        return [
            lambda fetched=fetched, fed=fed: session.partial_run(
                handle, those(fetched), {nodes[place]: value for place, value in fed.items()} or None
            )
            for fetched, fed in asked
        ]

    return Plan(drive=drive)


@partial("nothing-to-fetch")
def _no_fetch(tf: Any, np: Any) -> Plan:
    a = tf.placeholder(tf.float32, [])
    return Plan(drive=lambda session: [lambda: bool(session.partial_run_setup([], [a]))])


# --- devices

_DEVICES = words(
    """
    /cpu:0 /device:CPU:0 /job:localhost /job:localhost/task:0/cpu:0 /gpu:0 /cpu:7 /job:worker/task:3 cpu
    /foo:0 /cpu:x /replica:0/task:0 /cpu:* //cpu:0
    """
)
_DEVICE = {"device": {"empty": "", **{name: name for name in _DEVICES}}}


@devices("string-{device}", **_DEVICE)
def _placed(tf: Any, np: Any, device: str) -> Plan:
    with tf.device(device):
        a = tf.constant([1.0, 2.0])
        b = a + 1
    return Plan(steps=[Step(b)], facts=[a.device, b.op.device])


@devices("spec-{device}", **_DEVICE)
def _parsed(tf: Any, np: Any, device: str) -> Plan:
    spec = tf.DeviceSpec.from_string(device)
    return Plan(facts=[spec.to_string(), spec.job, spec.replica, spec.task, spec.device_type, spec.device_index])


@devices("nested")
def _nested_devices(tf: Any, np: Any) -> Plan:
    found = []
    with tf.device("/job:ps/task:1"):
        found.append(tf.constant(1).device)
        with tf.device("/cpu:0"):
            for inner in ("", "/task:2", None):
                with tf.device(inner):
                    found.append(tf.constant(1).device)
    return Plan(facts=found)


@devices("function")
def _device_function(tf: Any, np: Any) -> Plan:
    with tf.device(lambda op: "/device:CPU:0" if op.type == "Const" else "/job:localhost"):
        a = tf.constant(1)
        return Plan(facts=[a.device, (a + 1).device])


@devices("colocated")
def _colocated(tf: Any, np: Any) -> Plan:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.colocate_with(a):
        b = tf.constant(2, name="b")
    return Plan([b], facts=[b.device, [group.decode() for group in b.op.colocation_groups()]])


@devices("replica-setter")
def _setter(tf: Any, np: Any) -> Plan:
    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        made = [tf.Variable(float(i), name=f"v{i}") for i in range(3)]
        total = made[0] + made[1]
    return Plan(facts=[*[v.device for v in made], total.device], initialize=False)


errors = Family("errors")


_REFUSED: dict[str, Callable[[Any, Any], Any]] = {
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
    "one-hot-depth": lambda tf, np: tf.one_hot([1], -1),
    "negative-fill": lambda tf, np: tf.fill([-1], 1),
    "linspace-none": lambda tf, np: tf.linspace(0.0, 1.0, -1),
    "add-shapes": lambda tf, np: tf.add(tf.constant([1, 2]), [1, 2, 3]),
    "sum-of-text": lambda tf, np: tf.reduce_sum(["a"]),
    "not-of-int": lambda tf, np: tf.logical_not(1),
    "expand-axis": lambda tf, np: tf.expand_dims(1, 3),
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
    "top-k-scalar": lambda tf, np: tf.nn.top_k(1.0, 1),
    "softmax-int": lambda tf, np: tf.nn.softmax([1, 2]),
    "relu-bool": lambda tf, np: tf.nn.relu([True]),
    "embedding-none": lambda tf, np: tf.nn.embedding_lookup(None, [0]),
    "entropy-no-labels": lambda tf, np: tf.nn.softmax_cross_entropy_with_logits_v2(None, [[1.0]]),
    "entropy-shapes": lambda tf, np: tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[1.0, 2.0]),
    "segment-disorder": lambda tf, np: tf.segment_sum([1, 2, 3], [1, 0, 2]),
    "segment-negative": lambda tf, np: tf.segment_sum([1, 2], [-1, 0]),
    "pad-negative": lambda tf, np: tf.pad([1, 2], [[-1, 0]]),
    "pad-rank": lambda tf, np: tf.pad([1, 2], [[1, 0], [0, 1]]),
    "reverse-twice": lambda tf, np: tf.reverse([[1]], [0, 0]),
    "roll-axes": lambda tf, np: tf.roll([1, 2], [1, 2], [0]),
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


errors.add("session-target", lambda tf, np: tf.Session("nonsense://x:1"))


errors.add("session-config", lambda tf, np: tf.Session(config={"a": 1}))


errors.add("session-graph", lambda tf, np: tf.Session(graph=3))


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


errors.add(
    "error-classes",
    lambda tf, np: Plan(facts=[issubclass(getattr(tf.errors, name), tf.errors.OpError) for name in _CLASSES]),
)

FAMILIES = [fetches, feeds, partial, devices, errors]
