"""Input pipelines: their elements and errors, what they look like in a graph, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

datasets = Family("datasets")
FAMILIES = [datasets]

_MOST = 8


def _reciprocals(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])


def _checked(tf: Any) -> Callable[[Any], Any]:
    return lambda x: tf.check_numerics(1.0 / x, "bad")


def _rising(tf: Any, most: int) -> Any:
    return tf.data.Dataset.range(1, most).map(lambda x: tf.range(x))


def _sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])


# Each makes a dataset of ``tf``, ``tf.data.Dataset``, ``tf.data.experimental`` and numpy.
_ELEMENTS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "batch-of-none": lambda tf, d, e, np: d.range(3).batch(0),
    "batch-of-different-shapes": lambda tf, d, e, np: _rising(tf, 4).batch(2),
    "batch-by-tensor": lambda tf, d, e, np: d.range(3).batch(tf.constant(2, tf.int64)),
    "repeat-none": lambda tf, d, e, np: d.range(3).repeat(0),
    "take-negative": lambda tf, d, e, np: d.range(3).take(-2),
    "skip-negative": lambda tf, d, e, np: d.range(3).skip(-2),
    "range-without-step": lambda tf, d, e, np: d.range(1, 5, 0),
    "range-of-int32": lambda tf, d, e, np: d.range(3, output_type=tf.int32),
    "shuffle-without-buffer": lambda tf, d, e, np: d.range(3).shuffle(0),
    "shuffle-with-seed": lambda tf, d, e, np: d.range(8).shuffle(4, seed=1),
    "shuffle-twice": lambda tf, d, e, np: d.range(4).shuffle(4, seed=2).repeat(2),
    "shuffle-alike": lambda tf, d, e, np: d.range(4).shuffle(4, seed=2, reshuffle_each_iteration=False).repeat(2),
    "shuffle-and-repeat": lambda tf, d, e, np: d.range(4).apply(e.shuffle_and_repeat(3, 2, seed=1)),
    "random": lambda tf, d, e, np: e.RandomDataset(4).take(3),
    "shard-out-of-range": lambda tf, d, e, np: d.range(3).shard(2, 5),
    "padding-too-small": lambda tf, d, e, np: _rising(tf, 5).padded_batch(2, [2]),
    "padding-with-value": lambda tf, d, e, np: _rising(tf, 4).padded_batch(3, [-1], np.int64(9)),
    "window-of-none": lambda tf, d, e, np: d.range(3).window(0).flat_map(lambda w: w),
    "interleave-of-none": lambda tf, d, e, np: d.range(3).interleave(lambda x: d.range(x), 0),
    "map-that-fails": lambda tf, d, e, np: _reciprocals(tf).map(_checked(tf)),
    "map-that-fails-in-parallel": lambda tf, d, e, np: _reciprocals(tf).map(_checked(tf), 2),
    "map-and-batch-that-fails": lambda tf, d, e, np: _reciprocals(tf).apply(e.map_and_batch(_checked(tf), 2)),
    "errors-ignored": lambda tf, d, e, np: _reciprocals(tf).map(_checked(tf)).apply(e.ignore_errors()),
    "map-without-threads": lambda tf, d, e, np: d.range(3).map(lambda x: x, 0),
    "map-of-dict": lambda tf, d, e, np: d.range(2).map(lambda x: {"b": x, "a": -x}),
    "map-with-branch": lambda tf, d, e, np: d.range(3).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x)),
    "generator": lambda tf, d, e, np: d.from_generator(
        lambda n: iter([(k, "a") for k in range(n)]), (tf.int64, tf.string), args=(2,)
    ),
    "generator-of-other-type": lambda tf, d, e, np: d.from_generator(lambda: ["a"], tf.int32),
    "generator-of-other-shape": lambda tf, d, e, np: d.from_generator(lambda: [[1, 2]], tf.int32, [3]),
    "zip-of-dict": lambda tf, d, e, np: d.zip({"a": d.range(2), "b": (d.range(3), d.range(4))}),
    "cached": lambda tf, d, e, np: d.range(2).cache().repeat(2),
    "unbatched": lambda tf, d, e, np: d.range(4).batch(2).unbatch(),
    "enumerated": lambda tf, d, e, np: d.from_tensor_slices(["a", "b"]).enumerate(3),
    "scanned": lambda tf, d, e, np: d.range(4).apply(e.scan(np.int64(0), lambda s, x: (s + x, s))),
    "while-small": lambda tf, d, e, np: d.range(5).apply(e.take_while(lambda x: x < 2)),
    "unique-words": lambda tf, d, e, np: d.from_tensor_slices(["a", "b", "a"]).apply(e.unique()),
    "unique-pairs": lambda tf, d, e, np: d.from_tensor_slices(([1], [2])).apply(e.unique()),
    "counter": lambda tf, d, e, np: e.Counter(5, -2, tf.int32).take(3),
    "chosen-out-of-range": lambda tf, d, e, np: e.choose_from_datasets([d.range(3)], d.range(1, 2)),
    "sparse-rows": lambda tf, d, e, np: d.from_sparse_tensor_slices(_sparse(tf)),
    "sparse-batch": lambda tf, d, e, np: d.from_tensor_slices(_sparse(tf)).batch(2),
    "sparse-beside": lambda tf, d, e, np: d.zip((d.from_tensor_slices(_sparse(tf)), d.range(2))),
    "dense-to-sparse": lambda tf, d, e, np: _rising(tf, 4).apply(e.dense_to_sparse_batch(2, [3])),
    "dense-to-sparse-too-large": lambda tf, d, e, np: _rising(tf, 5).apply(e.dense_to_sparse_batch(2, [2])),
    "buckets": lambda tf, d, e, np: _rising(tf, 6).apply(
        e.bucket_by_sequence_length(lambda x: tf.size(x), [3, 6], [2, 2, 2], pad_to_bucket_boundary=True)
    ),
    "groups-of-none": lambda tf, d, e, np: d.range(3).apply(
        e.group_by_window(lambda x: x, lambda k, w: w.batch(2), window_size_func=lambda k: tf.constant(0, tf.int64))
    ),
    "other-count": lambda tf, d, e, np: d.range(3).apply(e.assert_cardinality(2)),
    "lines-of-no-file": lambda tf, d, e, np: tf.data.TextLineDataset("no such file"),
    "records-of-no-file": lambda tf, d, e, np: tf.data.TFRecordDataset("no such file"),
    "no-files": lambda tf, d, e, np: d.list_files("no such folder/*"),
}


@datasets("{make}", make=_ELEMENTS)
def _elements(tf: Any, np: Any, make: Any) -> Plan:
    made = make(tf, tf.data.Dataset, tf.data.experimental, np)
    iterator = tf.data.make_initializable_iterator(made)
    following = iterator.get_next()
    return Plan(steps=[Step(iterator.initializer), *[Step(following)] * _MOST])


# What is refused while the graph is built.
_REFUSED: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "slices-of-scalar": lambda tf, d, e, np: d.from_tensor_slices(3),
    "slices-of-sizes": lambda tf, d, e, np: d.from_tensor_slices((np.zeros(2), np.zeros(3))),
    "slices-of-nothing": lambda tf, d, e, np: d.from_tensor_slices(()),
    "range-of-nothing": lambda tf, d, e, np: d.range(),
    "batch-of-word": lambda tf, d, e, np: d.range(3).batch("a"),
    "filter-of-numbers": lambda tf, d, e, np: d.range(3).filter(lambda x: x),
    "zip-of-list": lambda tf, d, e, np: d.zip([d.range(3)]),
    "zip-of-number": lambda tf, d, e, np: d.zip((d.range(3), 3)),
    "join-of-types": lambda tf, d, e, np: d.range(3).concatenate(d.from_tensors("a")),
    "padding-of-type": lambda tf, d, e, np: d.range(3).padded_batch(2, [], "a"),
    "unbatch-of-scalars": lambda tf, d, e, np: d.range(3).unbatch(),
    "unique-of-floats": lambda tf, d, e, np: d.from_tensor_slices([1.0]).apply(e.unique()),
    "scan-of-other-state": lambda tf, d, e, np: d.range(3).apply(e.scan(0, lambda s, x: (x, x))),
    "reduce-of-other-state": lambda tf, d, e, np: d.range(3).reduce(0, lambda s, x: x),
    "step-of-number": lambda tf, d, e, np: d.range(3).apply(lambda made: 3),
    "weights-of-other-size": lambda tf, d, e, np: e.sample_from_datasets([d.range(3)], [0.5, 0.5]),
    "choice-of-int32": lambda tf, d, e, np: e.choose_from_datasets([d.range(3)], d.from_tensors(1)),
    "loop-of-python": lambda tf, d, e, np: list(d.range(3)),
    "option-of-no-name": lambda tf, d, e, np: setattr(tf.data.Options(), "spam", 1),
    "option-of-type": lambda tf, d, e, np: setattr(tf.data.Options(), "deterministic", 3),
    "once-with-placeholder": lambda tf, d, e, np: tf.data.make_one_shot_iterator(d.range(tf.placeholder(tf.int64, []))),
    "once-with-variable": lambda tf, d, e, np: tf.data.make_one_shot_iterator(
        d.range(3).map(lambda x: x + tf.get_variable("v", initializer=np.int64(1)))
    ),
    "initialised-by-other-types": lambda tf, d, e, np: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(
        d.from_tensors(1)
    ),
}


@datasets("refused-{make}", make=_REFUSED)
def _refused(tf: Any, np: Any, make: Any) -> Plan:
    make(tf, tf.data.Dataset, tf.data.experimental, np)
    return Plan(steps=[], facts="accepted")


@datasets("nodes")
def _nodes(tf: Any, np: Any) -> Plan:
    made = tf.data.Dataset.range(3).map(lambda x: x).batch(2).prefetch(1)
    iterator = tf.data.make_initializable_iterator(made)
    following = iterator.get_next()
    nodes = tf.get_default_graph().as_graph_def().node
    return Plan(
        steps=[Step(iterator.initializer), Step(following)],
        facts=[[node.name, node.op, list(node.input)] for node in nodes],
    )


@datasets("cardinalities")
def _counts(tf: Any, np: Any) -> Any:
    five, counted = tf.data.Dataset.range(5), tf.data.experimental.cardinality
    made = [
        [five, five.repeat(), five.filter(lambda x: x > 1), five.batch(2), five.map(lambda x: x), five.take(2)],
        [five.skip(1), five.window(2), five.shard(2, 1), five.concatenate(five)],
        [tf.data.Dataset.zip((five, five.take(3))), five.cache().prefetch(1), five.flat_map(lambda x: five)],
        [tf.data.experimental.RandomDataset(1)],
    ]
    return [[counted(each) for each in row] for row in made]


@datasets("handles")
def _handles(tf: Any, np: Any) -> Plan:
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    wrong = tf.data.Iterator.from_string_handle(handle, tf.int32, []).get_next()
    sources = [tf.data.make_one_shot_iterator(tf.data.Dataset.range(k, k + 3)) for k in (0, 10)]

    def drive(session: Any) -> Any:
        given = session.run([each.string_handle() for each in sources])
        return [
            *[lambda h=h: session.run(chosen, {handle: h}) for h in (*given, *given)],
            lambda: session.run(wrong, {handle: given[0]}),
            lambda: session.run(chosen, {handle: "no handle"}),
        ]

    return Plan(drive=drive)


@datasets("optional")
def _optional(tf: Any, np: Any) -> Plan:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(1))
    following = tf.data.experimental.get_next_as_optional(iterator)
    there, value = following.has_value(), following.get_value()
    return Plan(steps=[Step([there, value]), Step(there), Step(value)])


@datasets("single-element")
def _single(tf: Any, np: Any) -> Plan:
    element = tf.data.experimental.get_single_element
    made = [element(tf.data.Dataset.range(count)) for count in (1, 0, 2)]
    return Plan(steps=[Step(each) for each in made])


# Batches of examples, each a mapping from keys to numbers or texts; ``None`` is a feature of no kind.
_BATCHES: list[list[dict[str, Any]]] = [
    [{"r": [1, 2], "s": [7], "d": [1.5], "f": [0.5]}, {"r": [], "d": [2.5], "f": [1.5, 2.5], "t": ["a"]}],
    [{"d": [3.5], "r": None}, {"r": [3, 4, 5], "d": [4.5], "t": ["b", ""], "s": [8, 9]}, {"d": [5.5]}],
]
_PARSED: dict[str, dict[str, Any]] = {
    "ragged": {},
    "ragged-int32": {"splits": "int32"},
    "ragged-of-other-kind": {"batches": [[{"d": [1.5]}, {"d": [1.5], "r": [2.5]}]]},
    "ragged-without-splits": {"ragged_split_types": ["int64"]},
    "ragged-key-twice": {"ragged_keys": ["r", "f", "s"]},
    "ragged-of-broken-example": {"batches": [["no example"]]},
    "ragged-without-rows": {"batches": [[]]},
}


def _example(tf: Any, given: Any) -> bytes:
    if isinstance(given, str):
        return given.encode()
    made = tf.train.Example()
    for key, values in given.items():
        feature = made.features.feature[key]
        for value in values or ():
            kind = {int: "int64_list", float: "float_list", str: "bytes_list"}[type(value)]
            getattr(feature, kind).value.append(value.encode() if isinstance(value, str) else value)
    return bytes(made.SerializeToString())


@datasets("parsed-{name}", name=_PARSED)
def _parsed(tf: Any, np: Any, name: Any) -> Plan:
    """Ragged features beside others come as variants, in the order of all keys."""
    wanted = {
        "sparse_keys": ["s"],
        "sparse_types": ["int64"],
        "dense_keys": ["d"],
        "dense_shapes": [[]],
        "ragged_keys": ["r", "f", "t"],
        "ragged_value_types": ["int64", "float32", "string"],
        "ragged_split_types": [name.get("splits", "int64")] * 3,
        **{key: value for key, value in name.items() if key.startswith("ragged")},
    }
    batches = [[_example(tf, each) for each in batch] for batch in name.get("batches", _BATCHES)]
    rows = [np.array(batch, object) for batch in batches]
    given = tf.data.Dataset.from_generator(lambda: iter(rows), tf.string, [None])
    raw, made = tf.raw_ops, {key: _types(tf, value) for key, value in wanted.items()}
    types = [tf.float32, tf.variant, tf.variant, tf.variant, tf.variant]
    specs = {"output_types": types, "output_shapes": [[None], [], [], None, []]}
    parsed = raw.ParseExampleDatasetV2(
        input_dataset=given._variant_tensor,
        num_parallel_calls=np.int64(1),
        dense_defaults=[tf.constant([], tf.float32)],
        **specs,
        **made,
    )
    iterator = raw.IteratorV2(shared_name="", container="", **specs)
    start = raw.MakeIterator(dataset=parsed, iterator=iterator)
    dense, *ragged, sparse, texts = raw.IteratorGetNext(iterator=iterator, **specs)
    found = [dense, tf.shape(sparse)]
    for encoded, dtype in zip([*ragged, texts], [tf.float32, tf.int64, tf.string], strict=True):
        splits, values = raw.RaggedTensorFromVariant(
            encoded_ragged=encoded,
            input_ragged_rank=1,
            output_ragged_rank=1,
            Tvalues=dtype,
            Tsplits=made["ragged_split_types"][0],
        )
        found += [*splits, values]
    return Plan(steps=[Step(start), *[Step(found)] * (len(rows) + 1)])


def _types(tf: Any, values: Any) -> Any:
    return [getattr(tf, each) if each in ("int32", "int64", "float32", "string") else each for each in values]
