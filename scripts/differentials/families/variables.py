"""Variables over several runs: assignments, initialisers, errors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from scripts.differentials.program import Family, Plan, Step, words

__all__ = ["FAMILIES"]

variables = Family("variables")
FAMILIES = [variables]


for _name, _dtype in product(("assign", "assign_add", "assign_sub"), ("float32", "int32", "float64")):

    def _assigned(tf: Any, np: Any, name: str = _name, dtype: str = _dtype) -> Plan:
        v = tf.Variable(np.array([4, 6], dtype), name="v")
        by = tf.placeholder(dtype, [2])
        function, method = getattr(tf, name)(v, by), getattr(v, name)(by)
        fed = {by: [1, 2]}
        return Plan(steps=[Step(function, fed), Step(v), Step(method, fed), Step([v, v + 1])])

    variables.add(f"{_name}-{_dtype}", _assigned)


@variables("counter")
def _counter(tf: Any, np: Any) -> Plan:
    v = tf.Variable(0, name="count")
    up = v.assign_add(1)
    return Plan(steps=[Step(up), Step([up, up]), Step(v)])


@variables("uninitialised")
def _uninitialised(tf: Any, np: Any) -> Plan:
    v = tf.Variable(1.0)
    asked = tf.is_variable_initialized(v)
    steps = [Step(asked), Step(v), Step(v + 1), Step(v.initializer), Step(asked), Step(v)]
    return Plan(steps=steps, initialize=False)


@variables("names-of-the-uninitialised")
def _report(tf: Any, np: Any) -> Plan:
    a, _ = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    named = tf.report_uninitialized_variables()
    return Plan(steps=[Step(named), Step(a.initializer), Step(named)], initialize=False)


@variables("in-the-order-of-control")
def _ordered(tf: Any, np: Any) -> Plan:
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v.read_value()
        with tf.control_dependencies([after]):
            last = tf.assign_add(v, 2.0)
    return Plan(steps=[Step([after, last]), Step(v)])


@variables("from-another")
def _from_another(tf: Any, np: Any) -> Plan:
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable(a.initialized_value() * 3, name="b")
    return Plan(b)


@variables("fed-as-its-reading")
def _fed_variable(tf: Any, np: Any) -> Plan:
    v = tf.Variable(1.0)
    return Plan(steps=[Step(v, {v: 5.0}), Step(v)])


@variables("attributes")
def _attributes(tf: Any, np: Any) -> Plan:
    v = tf.Variable(np.ones((2, 3), "float32"), name="v", trainable=False)
    w = tf.get_variable("w", [4], tf.int32, tf.zeros_initializer())
    facts = [
        v.name,
        v.op.name,
        v.shape.as_list(),
        v.trainable,
        w.name,
        w.dtype.name.removesuffix("_ref"),
        len(tf.trainable_variables()),
        len(tf.global_variables()),
        v.get_shape().as_list(),
    ]
    return Plan([v, w], facts=facts)


@variables("initial-value-of-a-function")
def _function(tf: Any, np: Any) -> Plan:
    return Plan(tf.Variable(lambda: tf.fill([2], 3.0), dtype=tf.float32))


@variables("load-and-eval")
def _load(tf: Any, np: Any) -> Plan:
    v = tf.Variable([1.0, 2.0])

    def drive(session: Any) -> Any:
        return [lambda: v.load([5.0, 6.0], session), lambda: v.eval(session), lambda: session.run(v * 2)]

    return Plan(drive=drive)


@variables("count-up-to")
def _count(tf: Any, np: Any) -> Plan:
    v = tf.Variable(0)
    up = tf.count_up_to(v, 2)
    return Plan(steps=[Step(up), Step(up), Step(up), Step(v)])


@variables("assign-wrong-{wrong}", wrong=("shape", "dtype", "text"))
def _wrong_assignment(tf: Any, np: Any, wrong: str) -> Any:
    v = tf.Variable([1.0, 2.0])
    value: Any = {"shape": [1.0, 2.0, 3.0], "dtype": tf.constant([1, 2]), "text": ["a", "b"]}[wrong]
    return v.assign(value)


@variables("assign-unknown-shape")
def _unknown(tf: Any, np: Any) -> Plan:
    v, x = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, None)
    changed = v.assign(x)
    return Plan(steps=[Step(changed, {x: [3.0, 4.0]}), Step(changed, {x: [1.0]}), Step(v)])


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda tf: tf.zeros_initializer(),
    "ones": lambda tf: tf.ones_initializer(),
    "constant": lambda tf: tf.constant_initializer(2.5),
    "constant-list": lambda tf: tf.constant_initializer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "identity": lambda tf: tf.initializers.identity(),
    "constant-short": lambda tf: tf.constant_initializer([1.0, 2.0]),
}
_DRAWERS = words(
    """
    random_normal_initializer random_uniform_initializer truncated_normal_initializer
    glorot_uniform_initializer glorot_normal_initializer orthogonal_initializer
    variance_scaling_initializer uniform_unit_scaling_initializer initializers.he_normal
    initializers.he_uniform initializers.lecun_normal initializers.lecun_uniform
    """
)
for _name, _maker in _MAKERS.items():
    variables.add(
        f"initializer-{_name}",
        lambda tf, np, maker=_maker: Plan(tf.get_variable("v", [2, 3], initializer=maker(tf)), names=True),
    )


@variables("initializer-{name}", name=_DRAWERS)
def _drawn(tf: Any, np: Any, name: str) -> Plan:
    maker = tf
    for part in name.split("."):
        maker = getattr(maker, part)
    v = tf.get_variable("v", [4, 3], initializer=maker())
    spread = tf.reduce_max(tf.abs(v)) < 6.0
    return Plan([v, spread, tf.reduce_any(tf.not_equal(v, v[0]))], random=True)


@variables("partitioned")
def _partitioned(tf: Any, np: Any) -> Plan:
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        v = tf.get_variable("v", [5, 2], initializer=tf.ones_initializer())
    facts = [part.name for part in tf.global_variables()]
    return Plan(tf.convert_to_tensor(v), facts=facts)


@variables("batch-of-several")
def _several(tf: Any, np: Any) -> Plan:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    swap = tf.tuple([a.read_value(), b.read_value()])
    both = tf.group(a.assign(swap[1]), b.assign(swap[0]))
    return Plan(steps=[Step(tf.group(a.initializer, b.initializer)), Step(both), Step([a, b])])
