"""Forms of fetches and feeds."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

fetches = Family("fetches")
feeds = Family("feeds")
FAMILIES = [fetches, feeds]


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


@fetches("of-an-empty-graph")
def _empty_graph(tf: Any, np: Any) -> Plan:
    return Plan(steps=[Step([]), Step("a:0")])


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
