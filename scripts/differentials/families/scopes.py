"""Scopes: the names of nodes and variables, and sharing of variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

scopes = Family("scopes")
FAMILIES = [scopes]


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
        tf.tile([1], [2]),
        tf.pad([1], [[1, 1]]),
        tf.where([True], [1], [2]),
        tf.add_n([1, 2]),
        tf.matmul([[1.0]], [[1.0]]),
        tf.clip_by_value(1.0, 0.0, 2.0),
        tf.squared_difference(1.0, 2.0),
    ],
    "norms": lambda tf: [
        tf.nn.l2_normalize([1.0], 0),
        tf.nn.moments(tf.constant([[1.0]]), [0])[0],
        tf.nn.l2_loss([1.0]),
    ],
    "functions": lambda tf: [
        tf.exp(1.0),
        tf.log(1.0),
        tf.sqrt(1.0),
        tf.square(1.0),
        tf.abs(1.0),
        -tf.constant(1.0),
        tf.pow(1.0, 2.0),
        tf.maximum(1.0, 2.0),
        tf.round(1.0),
        tf.floor(1.0),
        tf.sign(1.0),
    ],
}
for _name, _called in _NAMED.items():
    for _scope in (None, "outer", "outer/"):

        def _in_scope(
            tf: Any, np: Any, called: Callable[[Any], list[Any]] = _called, scope: str | None = _scope
        ) -> Plan:
            if scope is None:
                found = called(tf)
            else:
                with tf.name_scope(scope):
                    found = called(tf)
            return Plan(facts=[[each.name, each.op.type] for each in found])

        _suffix = {None: "plain", "outer": "in-scope", "outer/": "in-literal-scope"}[_scope]
        scopes.add(f"names-{_name}-{_suffix}", _in_scope)


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
    return Plan(
        facts=[
            a,
            b,
            out,
            tf.get_default_graph().unique_name("a"),
            [op.name for op in tf.get_default_graph().get_operations()],
        ]
    )


for _bad in ("a b", "-a", "", "a//b", "ä", "a:0", ".a", "_a"):
    scopes.add(
        f"name-{ascii(_bad)[1:-1].replace(' ', '~')}-of-a-node",
        lambda tf, np, bad=_bad: Plan(facts=tf.constant(1, name=bad).name),
    )

    def _bad_scope(tf: Any, np: Any, bad: str = _bad) -> Plan:
        with tf.name_scope(bad) as scope:
            return Plan(facts=[scope, tf.constant(1).name])

    scopes.add(f"name-{ascii(_bad)[1:-1].replace(' ', '~')}-of-a-scope", _bad_scope)


@scopes("reuse-{reuse}", reuse=(None, False, True, "auto"))
def _reused(tf: Any, np: Any, reuse: Any) -> Plan:
    with tf.variable_scope("s"):
        a = tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE if reuse == "auto" else reuse):
        b = tf.get_variable("v", [2])
    return Plan(facts=[a.name, b.name, a is b])


@scopes("reuse-{reuse}-of-nothing", reuse=(None, False, True, "auto"))
def _unknown_reuse(tf: Any, np: Any, reuse: Any) -> Plan:
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE if reuse == "auto" else reuse):
        return Plan(facts=tf.get_variable("fresh", [2]).name)


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
