"""Iterators in sessions: how they begin, are shared, fed, saved, cancelled and closed."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.ops import raw
from actorsession.ops.variables.checkpointing import restore_v2, save_v2
from tests.opsets.datasets.taking import Dataset, plain
from tests.rows import for_each, refused, refused_later

E = tf.data.experimental


def test_an_iterator_is_initialised_before_it_gives_anything() -> None:
    size = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(size).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as sess:
        refused(lambda: sess.run(following), tf.errors.FailedPreconditionError, "not been initialized")
        for count in (2, 3):
            sess.run(iterator.initializer, {size: count})
            assert [sess.run(following) for _ in range(count)] == list(range(count))
            for _ in range(2):
                refused(lambda: sess.run(following), tf.errors.OutOfRangeError, "End of sequence")


def test_a_one_shot_iterator_begins_anew_in_each_session() -> None:
    following = Dataset.range(5).make_one_shot_iterator().get_next()
    for _ in range(2):
        with tf.Session() as sess:
            assert (sess.run([following, following]), sess.run(following)) == ([0, 0], 1)


def test_what_a_one_shot_iterator_cannot_have_is_named() -> None:
    size = tf.placeholder(tf.int64, [], "size")
    refused(lambda: Dataset.range(size).make_one_shot_iterator(), ValueError, r"Cannot capture a placeholder .*size")
    variable = tf.get_variable("v", initializer=np.int64(1))
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        Dataset.range(3).map(lambda x: x + variable).make_one_shot_iterator()
    refused(lambda: Dataset.range(3).make_one_shot_iterator().initializer, ValueError, "initializer")


def test_an_element_may_be_optional() -> None:
    iterator = Dataset.from_tensor_slices(([1, 2], ["a", "b"])).make_one_shot_iterator()
    following = E.get_next_as_optional(iterator)
    there, value = following.has_value(), following.get_value()
    none = E.Optional.empty(following.element_spec)
    with tf.Session() as sess:
        assert [sess.run([there, value]) for _ in range(2)] == [[True, (1, b"a")], [True, (2, b"b")]]
        assert not sess.run(there)
        for missing in (value, none.get_value()):
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
                sess.run(missing)
        assert sess.run(E.Optional.from_value(3).get_value()) == 3


def test_an_iterator_is_in_the_graph_of_its_dataset() -> None:
    with tf.Graph().as_default():
        elsewhere = Dataset.range(3)
    for make in (elsewhere.make_one_shot_iterator, elsewhere.make_initializable_iterator):
        with pytest.raises(ValueError, match="different from the graph"):
            make()


def test_an_iterator_of_a_structure_goes_through_any_dataset_of_it() -> None:
    iterator = tf.data.Iterator.from_structure((tf.int64, tf.float32), ([], [None]))
    following = iterator.get_next()
    starts = [iterator.make_initializer(Dataset.range(3).map(lambda x, k=k: (x + k, tf.ones([2])))) for k in (0, 10)]
    with tf.Session() as sess:
        for start, first in zip([*starts, starts[0]], (0, 10, 0), strict=True):
            sess.run(start)
            assert plain(sess.run(following)) == (first, [1.0, 1.0])
    assert iterator.output_types == (tf.int64, tf.float32)
    refused(lambda: iterator.make_initializer(Dataset.range(3)), ValueError, "structure")
    refused(lambda: iterator.make_initializer(Dataset.from_tensors((1, np.ones(2, np.float32)))), TypeError, "types")
    refused(lambda: iterator.make_initializer(Dataset.from_tensors((np.int64(1), np.float32(1)))), TypeError, "shapes")


def test_a_handle_that_is_fed_selects_the_iterator() -> None:
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    one = Dataset.range(3).make_one_shot_iterator()
    other = Dataset.range(10, 13).make_initializable_iterator()
    floats = Dataset.from_tensors(1.0).make_one_shot_iterator()
    with tf.Session() as sess:
        first, second, third = sess.run([one.string_handle(), other.string_handle(), floats.string_handle()])
        sess.run(other.initializer)
        found = [sess.run(following, {handle: h}) for h in (first, second, first, second)]
        assert found == [0, 10, 1, 11]
        for wrong in (third, "no handle"):
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(following, {handle: wrong})


def test_an_anonymous_iterator_is_found_until_it_is_destroyed() -> None:
    attrs: dict[str, Any] = {"output_types": [tf.int64], "output_shapes": [[]]}
    made = raw.AnonymousIterator(**attrs)
    wrapped = raw.WrapDatasetVariant(Dataset.range(3)._variant_tensor)
    start = raw.MakeIterator(raw.UnwrapDatasetVariant(wrapped), made)
    with tf.control_dependencies([start]):
        handle = raw.IteratorToStringHandle(made)
    given = tf.placeholder(tf.string, [])
    found = raw.IteratorFromStringHandleV2(given, **attrs)
    (following,) = raw.IteratorGetNext(found, **attrs)
    destroyed = raw.DestroyResourceOp(found)
    with tf.Session() as sess:
        texts = [sess.run(handle) for _ in range(2)]
        assert texts[0] != texts[1]
        taken = [sess.run(following, {given: text}) for text in (*texts, texts[0])]
        assert taken == [0, 0, 1]
        sess.run(destroyed, {given: texts[0]})
        assert sess.run(following, {given: texts[1]}) == 1
        refused(lambda: sess.run(following, {given: texts[0]}), tf.errors.OpError)


def test_names_of_nodes_are_those_of_tensorflow() -> None:
    iterator = Dataset.range(3).make_initializable_iterator()
    first, second = iterator.get_next(), iterator.get_next("mine")
    assert (first.name, first.op.type, second.name) == ("IteratorGetNext:0", "IteratorGetNext", "mine:0")
    assert (iterator.initializer.name, iterator.initializer.type) == ("MakeIterator", "MakeIterator")
    assert Dataset.range(3).make_one_shot_iterator()._iterator_resource.op.name == "OneShotIterator"


STATEFUL: dict[str, Callable[[], Any]] = {
    "shuffled and batched": lambda: Dataset.range(20).shuffle(6, seed=3).repeat(2).batch(3),
    "in threads": lambda: Dataset.range(20).map(lambda x: x * 2, 3).prefetch(2),
    "interleaved": lambda: Dataset.range(6).interleave(Dataset.range, 3, 2),
    "interleaved in threads": lambda: Dataset.range(6).interleave(Dataset.range, 3, 2, 2),
    "of groups": lambda: Dataset.range(20).apply(
        E.group_by_window(lambda x: x % 3, lambda k, w: w.map(lambda x: x + k), 4)
    ),
    "of windows": lambda: Dataset.range(20).window(4, 2).flat_map(lambda w: w),
    "with a state": lambda: Dataset.range(20).apply(E.scan(np.int64(0), lambda s, x: (s + x, s))),
    "cached": lambda: Dataset.range(4).map(lambda x: x * 2).cache().repeat(4),
    "one after the other": lambda: Dataset.range(3).concatenate(Dataset.range(20).skip(2)).take(15),
    "side by side": lambda: Dataset.zip((Dataset.range(40).shard(2, 1), E.RandomDataset(seed=1))),
    "a sample": lambda: E.sample_from_datasets([Dataset.range(9), Dataset.range(20, 29)], seed=2),
    "without repetitions": lambda: Dataset.range(20).map(lambda x: x % 11).apply(E.unique()),
}


@for_each("name", list(STATEFUL))
def test_a_position_is_restored_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    iterator = STATEFUL[name]().make_initializable_iterator()
    following = iterator.get_next()
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, E.make_saveable_from_iterator(iterator))
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(5):
            sess.run(following)
        path = saver.save(sess, str(tmp_path / "model"))
        wanted = [plain(sess.run(following)) for _ in range(3)]
        saver.restore(sess, path)
        assert [plain(sess.run(following)) for _ in range(3)] == wanted
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        saver.restore(sess, path)
        assert [plain(sess.run(following)) for _ in range(3)] == wanted


def test_what_is_no_position_is_refused(tmp_path: Path) -> None:
    iterator = Dataset.range(9).shuffle(3, seed=1).make_initializable_iterator()
    saveable = E.make_saveable_from_iterator(iterator)
    (spec,) = saveable.specs
    prefix, given = str(tmp_path / "model"), tf.placeholder(tf.string, [1])
    name = [spec.name]
    save, put = save_v2(prefix, name, [""], [spec.tensor]), save_v2(prefix, name, [""], [given])
    read = restore_v2(prefix, name, [""], [tf.string])
    restore = saveable.restore(restore_v2(prefix, name, [""], [tf.variant]), None)
    with tf.Session() as sess:
        refused(lambda: sess.run(save), tf.errors.FailedPreconditionError)
        sess.run(iterator.initializer)
        sess.run(save)
        sess.run(restore)
        (saved,) = np.asarray(sess.run(read)).reshape(-1)
        for wrong in (b"", b"\x80", b"\xc0", saved[:-3], b"zzz"):
            sess.run(put, {given: [wrong]})
            refused(lambda: sess.run(restore), tf.errors.OpError)


def test_positions_in_files_are_restored_and_those_of_generators_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join([f"{k}\n" for k in range(9)]))
    iterator = tf.data.TextLineDataset([str(tmp_path / "lines")] * 2).make_initializable_iterator()
    following = iterator.get_next()
    saver = tf.train.Saver([E.make_saveable_from_iterator(iterator)])
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        for _ in range(12):
            sess.run(following)
        path = saver.save(sess, str(tmp_path / "model"))
        sess.run(iterator.initializer)
        saver.restore(sess, path)
        assert sess.run(following) == b"3"
    other = Dataset.from_generator(lambda: [1, 2], tf.int64).make_initializable_iterator()
    saver = tf.train.Saver([E.make_saveable_from_iterator(other)])
    with tf.Session() as sess:
        sess.run(other.initializer)
        refused(lambda: saver.save(sess, str(tmp_path / "other")), tf.errors.FailedPreconditionError, "generator")


def _waiting() -> Any:
    """A dataset whose elements come out of a queue, with the queue."""
    queue = tf.FIFOQueue(10, tf.int64, [])
    return queue, Dataset.range(3).map(lambda x: x + queue.dequeue())


def test_a_step_that_waits_for_an_element_ends_in_time_and_the_element_is_the_next_one() -> None:
    queue, made = _waiting()
    iterator = made.make_initializable_iterator()
    following = iterator.get_next()
    value = tf.placeholder(tf.int64, [])
    put = queue.enqueue(value)
    with tf.Session() as sess:
        sess.run(iterator.initializer)
        refused(lambda: sess.run(following, options=tf.RunOptions(timeout_in_ms=50)), tf.errors.DeadlineExceededError)
        sess.run(put, {value: 7})
        assert sess.run(following) == 7
        sess.run(put, {value: 7})
        assert sess.run(following) == 8


def test_an_iterator_that_is_initialised_again_lets_nobody_wait() -> None:
    queue, waits = tf.FIFOQueue(10, tf.int64, []), threading.Event()

    def note(x: Any) -> Any:
        waits.set()
        return x

    made = Dataset.range(3).map(lambda x: tf.py_func(note, [x], tf.int64) + queue.dequeue())
    iterator = tf.data.Iterator.from_structure(tf.int64)
    following = iterator.get_next()
    slow, quick = iterator.make_initializer(made), iterator.make_initializer(Dataset.range(3))
    failed: list[Exception] = []
    with tf.Session() as sess:
        sess.run(slow)

        def wait() -> None:
            try:
                sess.run(following)
            except tf.errors.OpError as exc:
                failed.append(exc)

        thread = threading.Thread(target=wait)
        thread.start()
        assert waits.wait(20)
        sess.run(quick)
        thread.join(20)
        assert not thread.is_alive()
        assert sess.run(following) == 0
    assert [type(exc) for exc in failed] == [tf.errors.CancelledError]


def test_a_graph_with_datasets_goes_through_a_meta_graph(tmp_path: Path) -> None:
    offset = tf.get_variable("offset", initializer=np.int64(5), use_resource=True)
    one = Dataset.range(4).map(lambda x: x + offset).batch(2).make_initializable_iterator()
    tf.identity(one.get_next(), "first")
    other = Dataset.range(3).filter(lambda x: x > 1).make_one_shot_iterator()
    tf.identity(other.get_next(), "second")
    tf.add_to_collection("init", one.initializer)
    tf.train.export_meta_graph(str(tmp_path / "graph"))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(str(tmp_path / "graph"))
        sess.run(tf.global_variables_initializer())
        sess.run(tf.get_collection("init"))
        assert (sess.run("first:0").tolist(), sess.run("second:0")) == ([5, 6], 2)


def test_no_thread_is_left_when_a_session_ends() -> None:
    def begin() -> None:
        iterator = Dataset.range(10**9).map(lambda x: x, 2).prefetch(4).make_initializable_iterator()
        following = iterator.get_next()
        with tf.Session() as sess:
            sess.run(iterator.initializer)
            assert sess.run(following) == 0

    with tf.Graph().as_default():
        begin()
    gc.collect()
    end = time.monotonic() + 20
    while any(thread.name == "actorsession-dataset" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_function_that_waits_ends_with_the_session() -> None:
    queue = tf.FIFOQueue(1, tf.int64, [])
    iterator = Dataset.range(3).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
    following = iterator.get_next()
    sess = tf.Session()
    sess.run(iterator.initializer)
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(following, options=tf.RunOptions(timeout_in_ms=50))
    sess.close()
    end = time.monotonic() + 20
    while any(thread.name == "actorsession-dataset" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
    del sess


def test_several_threads_share_the_elements() -> None:
    following = Dataset.range(200).prefetch(4).make_one_shot_iterator().get_next()
    found: list[int] = []
    with tf.Session() as sess:

        def take() -> None:
            while True:
                try:
                    found.append(int(sess.run(following)))
                except tf.errors.OutOfRangeError:
                    return

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert sorted(found) == list(range(200))


async def test_an_asynchronous_session_takes_elements() -> None:
    with acts.Graph().as_default() as graph:
        made = Dataset.range(6).filter(lambda x: tf.equal(x % 2, 1)).batch(2)
        following = made.make_one_shot_iterator().get_next()
    async with acts.AsyncSession(graph=graph) as sess:
        assert ((await sess.run(following)).tolist(), (await sess.run(following)).tolist()) == ([1, 3], [5])
        await refused_later(sess.run(following), acts.errors.OutOfRangeError)
