"""Variables and queues over several runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan, Step, words

__all__ = ["FAMILIES"]

variables = Family("variables")


@variables("{name}-{dtype}", name=("assign", "assign_add", "assign_sub"), dtype=("float32", "int32", "float64"))
def _assigned(tf: Any, np: Any, name: str, dtype: str) -> Plan:
    v = tf.Variable(np.array([4, 6], dtype), name="v")
    by = tf.placeholder(dtype, [2])
    function, method = getattr(tf, name)(v, by), getattr(v, name)(by)
    fed = {by: [1, 2]}
    return Plan(steps=[Step(function, fed), Step(v), Step(method, fed), Step([v, v + 1])])


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
        [v.name, v.op.name, v.shape.as_list(), v.trainable, w.name, w.dtype.name.removesuffix("_ref")],
        [len(tf.trainable_variables()), len(tf.global_variables()), v.get_shape().as_list()],
    ]
    return Plan([v, w], facts=facts)


variables.add(
    "initial-value-of-a-function", lambda tf, np: Plan(tf.Variable(lambda: tf.fill([2], 3.0), dtype=tf.float32))
)


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
variables.over(
    "initializer-{make}",
    lambda tf, np, make: Plan(tf.get_variable("v", [2, 3], initializer=make(tf)), names=True),
    make=_MAKERS,
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


queues = Family("queues")


def _numbers(tf: Any) -> list[Any]:
    return [tf.constant(v) for v in (7, 7, 7)]


# Each kind with three items for it.
_QUEUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]] = {
    "fifo": (lambda tf: tf.FIFOQueue(3, tf.int32, shapes=[()]), _numbers),
    "shuffle": (lambda tf: tf.RandomShuffleQueue(3, 0, tf.int32, shapes=[()]), _numbers),
    "priority": (
        lambda tf: tf.PriorityQueue(3, [tf.int32], [()]),
        lambda tf: [(tf.constant(p, tf.int64), tf.constant(v)) for p, v in ((5, 50), (1, 10), (3, 30))],
    ),
    "padding": (
        lambda tf: tf.PaddingFIFOQueue(3, tf.int32, shapes=[(None,)]),
        lambda tf: [tf.constant([1]), tf.constant([2, 3]), tf.constant([4, 5, 6])],
    ),
}


_SCRIPTS: dict[str, Callable[[Any, Any, Any], list[Any]]] = {
    "in-and-out": lambda q, items, out: [*map(q.enqueue, items), q.size(), out, out, out, q.size()],
    "many": lambda q, items, out: [*map(q.enqueue, items), q.dequeue_many(2), q.dequeue_up_to(1), q.size()],
    "closed": lambda q, items, out: [
        *[put := q.enqueue(items[0]), q.is_closed(), q.close(), q.is_closed(), put, out, out, q.size()],
        *[q.dequeue_up_to(2), q.dequeue_many(1)],
    ],
}


@queues("{kind}-{script}", kind=_QUEUES, script=_SCRIPTS)
def _in_order(tf: Any, np: Any, kind: Any, script: Any) -> Plan:
    queue, items = (make(tf) for make in kind)
    return Plan(steps=[*map(Step, script(queue, items, queue.dequeue()))])


@queues("fifo-two-components")
def _components(tf: Any, np: Any) -> Plan:
    queue = tf.FIFOQueue(10, [tf.float32, tf.string], shapes=[[2], []], names=None)
    x = tf.placeholder(tf.float32, [None, 2])
    put = queue.enqueue_many([x, tf.constant(["a", "b", "c"])])
    fed = {x: [[1, 2], [3, 4], [5, 6]]}
    return Plan(steps=[Step(put, fed), Step(queue.dequeue()), Step(queue.dequeue_many(2)), Step(put, {x: [[1, 2]]})])


@queues("fifo-named-components")
def _named(tf: Any, np: Any) -> Plan:
    queue = tf.FIFOQueue(3, [tf.int32, tf.float32], shapes=[(), ()], names=["a", "b"])
    put = queue.enqueue({"a": 1, "b": 2.0})
    return Plan(steps=[Step(put), Step(queue.dequeue())], facts=[queue.names, queue.name])


@queues("fifo-without-shapes")
def _no_shapes(tf: Any, np: Any) -> Plan:
    queue = tf.FIFOQueue(3, [tf.int32])
    steps = [Step(queue.enqueue(tf.constant(v))) for v in (1, 2)]
    return Plan(queue.dequeue(), steps=[*steps, Step(queue.dequeue())])


queues.add("fifo-many-without-shapes", lambda tf, np: tf.FIFOQueue(3, [tf.int32]).dequeue_many(2))


@queues("fifo-wrong-{wrong}", wrong=("dtype", "shape", "number", "text"))
def _wrong_item(tf: Any, np: Any, wrong: str) -> Any:
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[2]])
    item: Any = {
        "dtype": tf.constant([1.0, 2.0]),
        "shape": tf.constant([1, 2, 3]),
        "number": ([1, 2], [3, 4]),
        "text": ["a", "b"],
    }
    return Plan(steps=[Step(queue.enqueue(item[wrong]))])


@queues("fifo-cancelled")
def _cancelled(tf: Any, np: Any) -> Plan:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[()])
    put = queue.enqueue(1)
    return Plan(steps=[Step(put), Step(queue.close(cancel_pending_enqueues=True)), Step(put), Step(queue.dequeue())])


@queues("fifo-shared")
def _shared(tf: Any, np: Any) -> Plan:
    a, b = (tf.FIFOQueue(3, tf.int32, shapes=[()], shared_name="one") for _ in range(2))
    return Plan(steps=[Step(a.enqueue(4)), Step(b.size()), Step(b.dequeue()), Step(a.size())])


@queues("fifo-chosen-by-index")
def _chosen(tf: Any, np: Any) -> Plan:
    pair = [tf.FIFOQueue(3, tf.int32, shapes=[()]) for _ in range(2)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, pair)
    return Plan(steps=[Step(pair[1].enqueue(8)), Step(chosen.size(), {index: 0}), Step(chosen.dequeue(), {index: 1})])


queues.over(
    "fifo-capacity-{size}",
    lambda tf, np, size: Plan(steps=[Step(tf.FIFOQueue(size, tf.int32, shapes=[()]).enqueue(1))]),
    size=(-1, "a"),
)


@queues("padding-two-dimensions")
def _padding(tf: Any, np: Any) -> Plan:
    queue = tf.PaddingFIFOQueue(5, tf.float32, shapes=[(None, 2)])
    steps = [Step(queue.enqueue(tf.constant(reals(np, (rows, 2))))) for rows in (1, 3, 2)]
    return Plan(steps=[*steps, Step(queue.dequeue_many(3))])


@queues("in-a-loop")
def _queue_in_loop(tf: Any, np: Any) -> Plan:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    put = queue.enqueue_many([[1, 2, 3, 4]])
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + queue.dequeue()), (0, 0))[1]
    return Plan(steps=[Step(put), Step(total), Step(queue.size())])


@queues("accumulator")
def _accumulator(tf: Any, np: Any) -> Plan:
    kept = tf.ConditionalAccumulator(tf.float32, [2])
    add = kept.apply_grad([2.0, 4.0], local_step=0)
    more = kept.apply_grad([4.0, 0.0], local_step=0)
    ahead, count = kept.set_global_step(5), kept.num_accumulated()
    return Plan(steps=[*map(Step, (add, more, count, kept.take_grad(2), count, ahead, add, count))])


FAMILIES = [variables, queues]
