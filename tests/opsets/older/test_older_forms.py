"""Types that others have replaced, where TensorFlow itself no longer builds or runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import actorsession.compat.v1 as tf
from actorsession import Tensor
from actorsession.graph.registry import lookup
from actorsession.ops import raw as typed
from tests.ops.cases import f32, run
from tests.ops.interpreter import check_gradient
from tests.rows import for_each, refused

raw: Any = typed


WAVES = np.arange(8.0).reshape(2, 2, 2).astype(np.complex64)


@for_each("name", ["FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"])
def test_a_transform_of_batches_is_the_transform(name: str) -> None:
    older, newer = run([getattr(raw, f"Batch{name}")(WAVES), getattr(raw, name)(WAVES)])
    np.testing.assert_array_equal(older, newer)


def test_eigenvalues_come_before_their_vectors() -> None:
    found = run(raw.BatchSelfAdjointEig(np.diag(f32([3, 1]))))
    np.testing.assert_array_equal(abs(found), [[1, 3], [0, 1], [1, 0]])


def test_the_largest_are_found_by_an_attribute_and_have_a_gradient() -> None:
    x = np.array([[1.0, 5.0, 3.0], [2.0, 0.0, 4.0]])
    values, indices = run(raw.TopK(x, k=2))
    np.testing.assert_array_equal(values, [[5, 3], [4, 2]])
    np.testing.assert_array_equal(indices, [[1, 2], [2, 0]])
    check_gradient(lambda v: raw.TopK(v, k=2)[0], x)


@for_each("which", [0, 1])
@for_each("known", [True, False])
def test_shapes_of_convolutions_are_those_of_tensors(which: int, known: bool) -> None:
    name = ("Conv3DBackpropInput", "Conv3DBackpropFilter")[which]
    arrays = [np.ones(s) for s in ((1, 3, 3, 3, 2), (2, 2, 2, 2, 1), (1, 2, 2, 2, 1))]
    attrs: Any = {"strides": [1] * 5, "padding": "VALID"}
    given = [raw.Placeholder(dtype=tf.float64, shape=a.shape if known else None) for a in arrays]
    older = getattr(raw, name)(*given, **attrs)
    newer_operands = [np.array(a.shape, np.int32) if at == which else a for at, a in enumerate(arrays)]
    newer = getattr(raw, f"{name}V2")(*newer_operands, **attrs)
    assert older.shape.is_compatible_with(arrays[which].shape)
    found = run([older, newer], dict(zip(given, arrays, strict=True)))
    np.testing.assert_array_equal(*found)


def test_a_placeholder_with_its_shape() -> None:
    x = raw.PlaceholderV2(dtype=tf.float32, shape=[2])
    assert run(x * 2.0, {x: [1.0, 2.0]}).tolist() == [2, 4]


def test_random_crops_lie_within_the_image() -> None:
    image = np.arange(60).reshape(4, 5, 3)
    crop = run(raw.RandomCrop(image, np.array([2, 3]), seed=1, seed2=2))
    top, left = np.argwhere((image == crop[0, 0]).all(-1))[0]
    np.testing.assert_array_equal(crop, image[top : top + 2, left : left + 3])
    refused(lambda: run(raw.RandomCrop(image, np.array([5, 3]))), tf.errors.InvalidArgumentError, "within it")


def test_distorted_boxes_are_those_of_the_newer_type() -> None:
    operands = np.array([40, 50, 3], np.int32), f32([[[0.1, 0.1, 0.9, 0.9]]])
    older = raw.SampleDistortedBoundingBox(*operands, seed=3, seed2=4, min_object_covered=0.5)
    newer = raw.SampleDistortedBoundingBoxV2(*operands, f32(0.5), seed=3, seed2=4)
    for one, other in zip(*run([list(older), list(newer)]), strict=True):
        np.testing.assert_array_equal(one, other)


# -- handles ---------------------------------------------------------------------------------------


@for_each("kind", ["TextLine", "WholeFile", "FixedLengthRecord", "Identity", "TFRecord"])
def test_readers_take_older_queues(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    if kind == "TFRecord":
        with tf.python_io.TFRecordWriter(str(file)) as writer:
            writer.write(b"one")
    queue = raw.FIFOQueue(component_types=[tf.string], shapes=[[]])
    attrs: Any = {"record_bytes": 4} if kind == "FixedLengthRecord" else {}
    reader = getattr(raw, f"{kind}Reader")(**attrs)
    wanted = {"WholeFile": b"one\ntwo\n", "FixedLengthRecord": b"one\n", "Identity": str(file).encode()}
    with tf.Session() as session:
        session.run(raw.QueueEnqueue(queue, [str(file).encode()]))
        assert not session.run(raw.QueueIsClosed(queue))
        assert session.run(raw.ReaderRead(reader, queue))[1] == wanted.get(kind, b"one")
        assert session.run(raw.ReaderNumRecordsProduced(reader)) == 1
        assert session.run(raw.ReaderNumWorkUnitsCompleted(reader)) == (kind in ("Identity", "WholeFile"))
        if kind == "TextLine":
            assert session.run(raw.ReaderReadUpTo(reader, queue, 1))[1].tolist() == [b"two"]
        if kind == "Identity":
            state = session.run(raw.ReaderSerializeState(reader))
            session.run(raw.ReaderReset(reader))
            session.run(raw.ReaderRestoreState(reader, state))
            assert session.run(raw.ReaderNumRecordsProduced(reader)) == 1


def test_tables_come_from_files_and_hold_vectors(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("a\nb\n")
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    vectors = raw.MutableHashTableOfTensors(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[2])
    with tf.Session() as session:
        session.run(raw.InitializeTableFromTextFile(table, str(file).encode(), key_index=-2, value_index=-1))
        found = raw.LookupTableFind(table, np.array([b"b", b"z"], object), np.int64(-1))
        assert session.run(found).tolist() == [1, -1]
        session.run(raw.LookupTableInsert(vectors, np.array([4]), f32([[1, 2]])))
        found = raw.LookupTableFind(vectors, np.array([4]), f32([0, 0]))
        assert session.run(found).tolist() == [[1, 2]]


def test_accumulators_with_resources() -> None:
    handle = raw.ResourceConditionalAccumulator(dtype=tf.float32, shape=[2])
    give = raw.ResourceAccumulatorApplyGradient(handle, np.int64(0), f32([1, 3]))
    with tf.Session() as session:
        session.run(raw.ResourceAccumulatorSetGlobalStep(handle, np.int64(0)))
        session.run([give])
        assert session.run(raw.ResourceAccumulatorNumAccumulated(handle)) == 1
        taken = raw.ResourceAccumulatorTakeGradient(handle, 1, dtype=tf.float32)
        assert session.run(taken).tolist() == [1, 3]


@for_each("version", ["", "V2", "V3"])
def test_arrays_of_all_versions_are_written_read_and_differentiated(version: str) -> None:
    def of(what: str) -> Any:
        return getattr(raw, f"TensorArray{what}{version}")

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    made = of("")(size=3, dtype=tf.float32)
    handle = made[0] if isinstance(made, tuple) else made
    flow: Tensor = of("Write")(handle, 0, x[0] * x[1], 0.0)
    flow = of("Scatter")(handle, np.array([1, 2], np.int32), x, flow)
    total = of("Gather")(handle, np.array([2, 0], np.int32), flow, dtype=tf.float32)
    one = of("Read")(handle, 1, flow, dtype=tf.float32)
    (by_x,) = tf.gradients(tf.reduce_sum(total) + tf.reduce_sum(one), [x])
    parts = of("")(size=2, dtype=tf.float32)
    parts = parts[0] if isinstance(parts, tuple) else parts
    split = of("Split")(parts, f32([5, 6, 7]), np.array([1, 2]), 0.0)
    joined, lengths = of("Concat")(parts, split, dtype=tf.float32)
    with tf.control_dependencies([joined, total, one]):
        closed = [of("Close")(handle), of("Close")(parts)]
    found = run([total, by_x, joined, lengths, of("Size")(handle, flow), closed])
    np.testing.assert_array_equal(found[0], [[3, 4], [3, 8]])
    np.testing.assert_array_equal(found[1], [[4, 5], [2, 3]])
    np.testing.assert_array_equal(found[2], [5, 6, 7])
    assert (found[3].tolist(), found[4]) == ([1, 2], 3)


def test_the_first_arrays_were_packed_as_a_whole() -> None:
    handle = raw.TensorArray(size=2, dtype=tf.float32)
    flow = raw.TensorArrayUnpack(handle, f32([[1, 2], [3, 4]]), 0.0)
    assert run(raw.TensorArrayPack(handle, flow, dtype=tf.float32)).tolist() == [[1, 2], [3, 4]]


def test_arguments_and_results_of_a_function_that_is_a_graph_are_fed_and_fetched() -> None:
    graph_def = tf.GraphDef()
    for name, op, inputs in (("x", "_Arg", []), ("y", "Neg", ["x"]), ("out", "_Retval", ["y"])):
        node = graph_def.node.add()
        node.name, node.op = name, op
        node.input.extend(inputs)
        node.attr["T"].type = tf.float32.as_datatype_enum
        if op != "Neg":
            node.attr["index"].i = 0
    tf.import_graph_def(graph_def, name="")
    assert run(["y:0", "out"], {"x:0": f32([1, 2])})[0].tolist() == [-1, -2]


# -- the mechanism ---------------------------------------------------------------------------------


def test_an_older_form_keeps_its_name_and_signature_in_the_graph() -> None:
    made = raw.InTopK(f32([[1, 2]]), np.array([1]), k=1).op
    assert (made.type, len(made.inputs), made.attrs["k"]) == ("InTopK", 2, 1)


def test_it_takes_the_types_of_its_signature() -> None:
    refused(lambda: raw.Concat(tf.constant(0.0), [[1.0], [2.0]]), TypeError, "Concat takes int32 as concat_dim")


def test_inputs_whose_values_say_how_large_a_result_is_are_found_in_their_new_places() -> None:
    assert 2 in lookup("NonMaxSuppression").sized_by
    assert 1 in lookup("MatrixDiagPartV2").sized_by
