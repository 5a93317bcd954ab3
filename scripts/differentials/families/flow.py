"""Conditions, loops and cases, nested and over variables; control dependencies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scripts.differentials.program import Family, Plan, Step, in_order

__all__ = ["FAMILIES"]

flow = Family("control-flow")
FAMILIES = [flow]


# Two branches that return the same structure.
_BRANCHES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "tensor": (lambda tf, x: x + 1, lambda tf, x: x * 2),
    "list": (lambda tf, x: [x, x + 1], lambda tf, x: [x * 2, x]),
    "tuple": (lambda tf, x: (x, -x), lambda tf, x: (x * 3, x)),
    "dict": (lambda tf, x: {"a": x, "b": -x}, lambda tf, x: {"a": -x, "b": x}),
    "constants": (lambda tf, x: 1.0, lambda tf, x: 2.0),
    "other-shapes": (lambda tf, x: x, lambda tf, x: tf.stack([x, x])),
    "single-item": (lambda tf, x: [x], lambda tf, x: [x * 2]),
    "nested": (
        lambda tf, x: tf.cond(x > 1, lambda: x * 10, lambda: x),
        lambda tf, x: tf.cond(x < -1, lambda: -x, lambda: x * 100),
    ),
    "loop-in-branch": (
        lambda tf, x: (
            tf.while_loop(lambda v: v < 50, lambda v: [v * 2 + 1], [x])[0]
            if isinstance(tf.while_loop(lambda v: v < 50, lambda v: [v * 2 + 1], [x]), (list, tuple))
            else tf.while_loop(lambda v: v < 50, lambda v: v * 2 + 1, [x])
        ),
        lambda tf, x: x,
    ),
    "other-dtypes": (lambda tf, x: x, lambda tf, x: tf.cast(x, tf.int32)),
    "other-structures": (lambda tf, x: x, lambda tf, x: [x, x]),
    "none": (lambda tf, x: None, lambda tf, x: None),
    "operation": (lambda tf, x: tf.no_op(), lambda tf, x: tf.no_op()),
}


@flow("cond-{branches}", branches=_BRANCHES)
def _branched(tf: Any, np: Any, branches: Any) -> Plan:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, *[partial(branch, tf, x) for branch in branches])
    return Plan(steps=[Step(y, {x: fed}) for fed in (0.5, 3.0, -0.5, -2.0)])


@flow("cond-strict")
def _strict(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.bool, [])
    return Plan(steps=[Step(tf.cond(x, lambda: [1], lambda: [2], strict=True), {x: True})])


@flow("cond-runs-one-branch")
def _one_branch(tf: Any, np: Any) -> Plan:
    a, b, which = tf.Variable(0), tf.Variable(0), tf.placeholder(tf.bool, [])
    y = tf.cond(which, lambda: a.assign_add(1), lambda: b.assign_add(10))
    return Plan(steps=[Step(y, {which: True}), Step(y, {which: False}), Step([a, b])])


flow.add("cond-of-a-python-bool", lambda tf, np: tf.cond(True, lambda: tf.constant(1), lambda: tf.constant(2)))


flow.add("cond-of-a-number", lambda tf, np: tf.cond(tf.constant(1), lambda: tf.constant(1), lambda: tf.constant(2)))


flow.add(
    "cond-of-a-vector",
    lambda tf, np: tf.cond(tf.constant([True, False]), lambda: tf.constant(1), lambda: tf.constant(2)),
)


flow.add("cond-without-functions", lambda tf, np: tf.cond(tf.constant(True), tf.constant(1), tf.constant(2)))


@flow("cond-slope")
def _cond_slope(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: x * x, lambda: 3 * x)
    return Plan(steps=[Step(tf.gradients(y, x), {x: fed}) for fed in (2.0, -2.0)])


@flow("while-slope")
def _while_slope(tf: Any, np: Any) -> Plan:
    x = tf.constant(3.0)
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * x), [0, x])
    return Plan(tf.gradients(y, x))


_LOOPS: dict[str, Callable[[Any], Any]] = {
    "count": lambda tf: tf.while_loop(lambda i: i < 10, lambda i: i + 3, [tf.constant(0)]),
    "sum": lambda tf: tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0)),
    "list": lambda tf: tf.while_loop(lambda i, s: i < 5, lambda i, s: [i + 1, s * 2.0], [0, 1.0]),
    "never": lambda tf: tf.while_loop(lambda i: i < 0, lambda i: i + 1, [7]),
    "at-most": lambda tf: tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=4),
    "at-most-none": lambda tf: tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=0),
    "fibonacci": lambda tf: tf.while_loop(lambda a, b: b < 100, lambda a, b: (b, a + b), (0, 1)),
    "matrix": lambda tf: tf.while_loop(
        lambda i, m: i < 3, lambda i, m: (i + 1, tf.matmul(m, m)), (0, tf.constant([[1.0, 1.0], [0.0, 1.0]]))
    ),
    "growing": lambda tf: tf.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, tf.concat([v, [i]], 0)),
        (0, tf.constant([9])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    ),
    "growing-undeclared": lambda tf: tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, [i]], 0)), (0, tf.constant([9]))
    ),
    "nested": lambda tf: tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + 10), (0, s))[1]),
        (0, 0),
    ),
    "cond-in-loop": lambda tf: tf.while_loop(
        lambda i, s: i < 6, lambda i, s: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s + i, lambda: s * 2)), (0, 1)
    ),
    "captures": lambda tf: (lambda c: tf.while_loop(lambda i: i < c, lambda i: i + c // 2, [0]))(tf.constant(7)),
    "dict": lambda tf: tf.while_loop(
        lambda v: v["i"] < 3, lambda v: [{"i": v["i"] + 1, "s": v["s"] + 2}], [{"i": 0, "s": 1}]
    ),
    "other-dtype": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i + 1, tf.float32), [0]),
    "other-structure": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: (i, i), [0]),
    "no-variables": lambda tf: tf.while_loop(lambda: True, lambda: (), []),
    "number-condition": lambda tf: tf.while_loop(lambda i: i, lambda i: i + 1, [0]),
    "zero-parallel": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0),
    "keeps-structure": lambda tf: tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True),
    "newton": lambda tf: tf.while_loop(
        lambda x: tf.abs(x * x - 2) > 1e-6, lambda x: (x + 2 / x) / 2, [tf.constant(1.0, tf.float64)]
    ),
}
flow.over("while-{loop}", lambda tf, np, loop: loop(tf), loop=_LOOPS)


@flow("while-changes-a-variable")
def _loop_variable(tf: Any, np: Any) -> Plan:
    v = tf.Variable(0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(i)]):
            return i + 1

    return in_order(tf.while_loop(lambda i: i < 4, body, [0]), v)


@flow("while-fed-limit")
def _fed_limit(tf: Any, np: Any) -> Plan:
    limit = tf.placeholder(tf.int32, [])
    out = tf.while_loop(lambda i, p: i < limit, lambda i, p: (i + 1, p * 2), (0, 1))
    return Plan(steps=[Step(out, {limit: fed}) for fed in (0, 1, 5)])


@flow("case-{exclusive}-{default}", exclusive=(False, True), default=(False, True))
def _cases(tf: Any, np: Any, exclusive: bool, default: bool) -> Plan:
    x = tf.placeholder(tf.int32, [])
    pairs = [(x < 0, lambda: tf.constant(-1)), (x > 5, lambda: x * 10), (x > 8, lambda: x * 100)]
    other = (lambda: tf.constant(0)) if default else None
    y = tf.case(pairs, default=other, exclusive=exclusive)
    return Plan(steps=[Step(y, {x: fed}) for fed in (-3, 6, 9, 2)])


@flow("switch-case")
def _switch(tf: Any, np: Any) -> Plan:
    x = tf.placeholder(tf.int32, [])
    y = tf.switch_case(x, [lambda: tf.constant(40), lambda: x + 5])
    return Plan(steps=[Step(y, {x: fed}) for fed in (0, 1, 7, -1)])


_THREE = [1.0, 2.0, 3.0]
_FUNCTIONALS: dict[str, Callable[[Any], Any]] = {
    "map-fn": lambda tf: tf.map_fn(lambda x: x * x + 1, tf.constant(_THREE)),
    "scan": lambda tf: tf.scan(lambda a, x: a * 2 + x, tf.constant(_THREE)),
    "foldl": lambda tf: tf.foldl(lambda a, x: a * 2 + x, tf.constant(_THREE[:2])),
    "foldr": lambda tf: tf.foldr(lambda a, x: a * 2 + x, tf.constant(_THREE[:2])),
}
flow.each(_FUNCTIONALS, lambda call: lambda tf, np: call(tf))


@flow("tensor-array")
def _tensor_array(tf: Any, np: Any) -> Any:
    array = tf.TensorArray(tf.float32, 3)
    _, filled = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2)), (0, array)
    )
    return filled.stack()


@flow("group-and-tuple")
def _group(tf: Any, np: Any) -> Plan:
    v = tf.Variable(1.0)
    both = tf.group(v.assign_add(1.0), tf.no_op(), name="both")
    pair = tf.tuple([tf.constant(1), tf.constant(2)], control_inputs=[both])
    return Plan(steps=[Step(both), Step(pair), Step(v)], facts=[both.name, both.type])


@flow("control-dependencies-nested")
def _nested_control(tf: Any, np: Any) -> Plan:
    a, b = tf.no_op(name="a"), tf.no_op(name="b")
    with tf.control_dependencies([a]):
        c = tf.constant(1, name="c")
        with tf.control_dependencies([b]):
            d = tf.constant(2, name="d")
        with tf.control_dependencies(None):
            e = tf.constant(3, name="e")
    return Plan(facts=[sorted(op.name for op in each.op.control_inputs) for each in (c, d, e)])


@flow("control-dependency-runs")
def _control(tf: Any, np: Any) -> Plan:
    v = tf.Variable(0)
    with tf.control_dependencies([v.assign_add(1)]):
        x = tf.constant(5)
        y = tf.identity(x)
    return in_order(x, y, [x, y], v)


for _wrong in ("a", 3, None):
    flow.add(
        f"control-dependency-on-{_wrong}",
        lambda tf, np, wrong=_wrong: tf.control_dependencies([wrong]).__enter__() or tf.constant(1),
    )
