"""Queues over several runs, and accumulators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

queues = Family("queues")
FAMILIES = [queues]


_QUEUES: dict[str, Callable[[Any], Any]] = {
    "fifo": lambda tf: tf.FIFOQueue(3, tf.int32, shapes=[()]),
    "shuffle": lambda tf: tf.RandomShuffleQueue(3, 0, tf.int32, shapes=[()]),
    "priority": lambda tf: tf.PriorityQueue(3, [tf.int32], [()]),
    "padding": lambda tf: tf.PaddingFIFOQueue(3, tf.int32, shapes=[(None,)]),
}


def _items(tf: Any, kind: str) -> list[Any]:
    if kind == "priority":
        return [(tf.constant(p, tf.int64), tf.constant(v)) for p, v in ((5, 50), (1, 10), (3, 30))]
    if kind == "padding":
        return [tf.constant([1]), tf.constant([2, 3]), tf.constant([4, 5, 6])]
    return [tf.constant(v) for v in (7, 7, 7)]


for _kind, _queue in _QUEUES.items():

    def _in_and_out(tf: Any, np: Any, kind: str = _kind, make: Any = _queue) -> Plan:
        queue = make(tf)
        steps = [Step(queue.enqueue(item)) for item in _items(tf, kind)]
        out = queue.dequeue()
        return Plan(steps=[*steps, Step(queue.size()), *[Step(out)] * 3, Step(queue.size())])

    def _many(tf: Any, np: Any, kind: str = _kind, make: Any = _queue) -> Plan:
        queue = make(tf)
        steps = [Step(queue.enqueue(item)) for item in _items(tf, kind)]
        return Plan(steps=[*steps, Step(queue.dequeue_many(2)), Step(queue.dequeue_up_to(1)), Step(queue.size())])

    def _closed(tf: Any, np: Any, kind: str = _kind, make: Any = _queue) -> Plan:
        queue = make(tf)
        item = queue.enqueue(_items(tf, kind)[0])
        out = queue.dequeue()
        steps = [item, queue.is_closed(), queue.close(), queue.is_closed(), item, out, out, queue.size()]
        return Plan(steps=[*map(Step, steps), Step(queue.dequeue_up_to(2)), Step(queue.dequeue_many(1))])

    queues.add(f"{_kind}-in-and-out", _in_and_out)
    queues.add(f"{_kind}-many", _many)
    queues.add(f"{_kind}-closed", _closed)


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


@queues("fifo-many-without-shapes")
def _many_no_shapes(tf: Any, np: Any) -> Any:
    return tf.FIFOQueue(3, [tf.int32]).dequeue_many(2)


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


for _size in (-1, "a"):
    queues.add(
        f"fifo-capacity-{_size}",
        lambda tf, np, size=_size: Plan(steps=[Step(tf.FIFOQueue(size, tf.int32, shapes=[()]).enqueue(1))]),
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
    return Plan(
        steps=[
            Step(add),
            Step(more),
            Step(kept.num_accumulated()),
            Step(kept.take_grad(2)),
            Step(kept.num_accumulated()),
            Step(kept.set_global_step(5)),
            Step(add),
            Step(kept.num_accumulated()),
        ]
    )
