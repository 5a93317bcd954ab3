"""What tells tensors, shapes, structures, arrays and descriptions of types from other values."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.interop import GraphDef
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def kinds() -> dict[str, Any]:
    values = tf.constant([1.0])
    return {
        "tensor": values,
        "variable": tf.Variable([1.0], name="v"),
        "text": tf.constant("a"),
        "truth": tf.constant(True),
        "sparse": tf.SparseTensor([[0]], values, [2]),
        "rows": tf.IndexedSlices(values, tf.constant([0])),
        "array": np.ones(1),
        "number": 1.0,
    }


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (tf.is_tensor, {"tensor", "variable", "text", "truth", "sparse", "rows"}),
        (tf.is_symbolic_tensor, {"tensor", "text", "truth", "sparse", "rows"}),
        (tf.is_numeric_tensor, {"tensor", "variable", "sparse", "rows"}),
    ],
    ids=["is_tensor", "is_symbolic_tensor", "is_numeric_tensor"],
)
def test_tensors_are_told_from_other_values(question: Any, wanted: set[str]) -> None:
    assert {name for name, value in kinds().items() if question(value)} == wanted


def test_rows_and_sparse_tensors_stay_what_they_are() -> None:
    rows, sparse = kinds()["rows"], kinds()["sparse"]
    assert tf.convert_to_tensor_or_indexed_slices(rows, tf.float32) is rows
    assert tf.convert_to_tensor_or_sparse_tensor(sparse, tf.float32) is sparse
    for convert in (tf.convert_to_tensor_or_indexed_slices, tf.convert_to_tensor_or_sparse_tensor):
        made = convert(3, tf.float64, "three")
        assert (made.dtype, made.op.name.rstrip("_1")) == (tf.float64, "three")
        with pytest.raises(ValueError, match="None"):
            convert(None)
    fed: Any = tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[1]], [5.0], [2]))
    with tf.Session() as sess:
        assert sess.run(tf.sparse_tensor_to_dense(fed)).tolist() == [0.0, 5.0]
    with pytest.raises(ValueError, match=r"int32.*float32"):
        tf.convert_to_tensor_or_indexed_slices(rows, tf.int32)
    with pytest.raises(RuntimeError, match=r"int32.*float32"):
        tf.convert_to_tensor_or_sparse_tensor(sparse, tf.int32)


@for_each("name", ["tensor", "sparse", "array", "number"])
def test_one_value_is_not_several(name: str) -> None:
    tf.assert_proper_iterable([1, 2])
    with pytest.raises(TypeError, match="expected several values"):
        tf.assert_proper_iterable(kinds()[name])
    with pytest.raises(TypeError, match="got one: str"):
        tf.assert_proper_iterable("ab")


def test_further_names_are_there(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert x[:, tf.newaxis].shape.as_list() == [None, 1, 3]
    # A container is named and an old scope too.
    with tf.container("box"), tf.op_scope([tf.constant(1)], None, "scope"):
        v = tf.Variable(1.0, name="v")
    assert (v.op.name, v.op.get_attr("container")) == ("scope/v", b"box")
    # A name that nobody has is an attribute error.
    with pytest.raises(AttributeError, match="'no_such_name'"):
        _ = tf.no_such_name  # type: ignore[attr-defined]
    # Queue runners are found in their former module too.
    for name in tf.train.queue_runner.__all__:
        assert getattr(tf.train.queue_runner, name) is getattr(tf.train, name)
    # Programs are told which version they have to do with. Some choose names by it: 1.x, later than 1.4.
    assert tf.__version__ == tf.VERSION
    major, minor, _ = map(int, tf.VERSION.split("."))
    assert (major, minor) == (1, 15)
    # Tensors have one floating type.
    x, y = tf.constant(1.0, tf.float64), tf.constant(1.0)
    assert tf.assert_same_float_dtype([x, None], tf.float64) == tf.float64
    assert tf.assert_same_float_dtype() == tf.float32
    with pytest.raises(ValueError, match=r"float64.*float32"):
        tf.assert_same_float_dtype([x, y])
    with pytest.raises(ValueError, match="int32"):
        tf.assert_same_float_dtype([tf.constant(1)])


def test_each_code_has_its_class_and_each_class_its_code() -> None:
    assert (tf.errors.OK, tf.errors.CANCELLED, tf.errors.UNAUTHENTICATED) == (0, 1, 16)
    for code in range(1, 17):
        kind = tf.errors.exception_type_from_error_code(code)
        assert (kind.error_code, tf.errors.error_code_from_exception_type(kind)) == (code, code)
    assert tf.errors.exception_type_from_error_code(5) is acts.errors.NotFoundError
    assert tf.errors.error_code_from_exception_type(acts.errors.WorkerRestartedError) == 10
    foreign: Any = KeyError
    assert tf.errors.error_code_from_exception_type(foreign) == tf.errors.UNKNOWN
    assert tf.errors.AbortedError is acts.errors.AbortedError
    with pytest.raises(KeyError):
        tf.errors.exception_type_from_error_code(99)


@pytest.mark.parametrize("room", ["debugging", "dtypes", "queue"])
def test_rooms_hold_what_tf_has_itself(room: str) -> None:
    held = getattr(tf, room)
    assert [name for name in held.__all__ if not hasattr(held, name)] == []
    other = {"assert_all_finite": tf.verify_tensor_all_finite}
    for name in held.__all__:
        assert getattr(held, name) is other.get(name, getattr(tf, name, None)), name


@for_each("name", ["qint8", "quint8", "qint16", "quint16", "qint32"])
def test_quantised_tensors_are_fed_and_fetched_as_integers(name: str) -> None:
    dtype, integers = getattr(tf, name), np.dtype(name.removeprefix("q"))
    x = tf.placeholder(name, [None])
    assert dtype.is_quantized
    assert not dtype.is_integer
    assert dtype.size == integers.itemsize
    assert dtype.as_numpy_dtype == np.dtype([(name, integers)])
    with tf.Session() as sess:
        given = np.array([1, 2, 100], integers)
        found = sess.run([x, tf.cast(x, tf.float32), tf.bitcast(x, integers)], {x: given})
    assert [each.dtype for each in found] == [integers, np.dtype("float32"), integers]
    assert all(each.tolist() == [1, 2, 100] for each in found)
    with pytest.raises(TypeError, match=f"{name} not in list of allowed values"):
        _ = x + x
    with pytest.raises(TypeError, match="least and greatest"):
        _ = dtype.min


@pytest.fixture
def x(graph: Any) -> Any:
    """A batch of rows of three, in a program of version one."""
    tf.disable_v2_behavior()
    return tf.placeholder(tf.float32, [None, 3], name="x")


def test_shapes_consist_of_ints_unless_a_program_says_otherwise() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert (x.shape[1], x.shape[0]) == (3, None)
    tf.disable_v2_tensorshape()
    assert x.shape[1].value == 3
    tf.enable_v2_tensorshape()
    assert list(x.shape) == [None, 3]


def test_dimensions_are_read_by_value(x: Any) -> None:
    assert [d.value for d in x.get_shape()] == [None, 3]
    assert (x.shape[-1].value, x.shape.dims[1].value) == (3, 3)
    assert tf.dimension_value(x.shape[1]) == tf.compat.dimension_value(3) == 3
    assert tf.dimension_at_index(x.shape, 1).value == tf.compat.dimension_at_index(x.shape, 1) == 3
    assert str(x.shape) == "(?, 3)"
    # Dimensions stand where sizes do.
    width = x.shape[1]
    assert tf.reshape(x, [-1, width * 2]).shape.as_list() == [None, 6]
    assert tf.zeros([width, 2]).shape.as_list() == [3, 2]
    assert tf.ones(width).shape.as_list() == [3]
    assert tf.get_variable("w", [width, 5]).shape.as_list() == [3, 5]
    assert tf.get_variable("b", shape=width).shape[0].value == 3
    assert tf.random_normal([width]).shape.as_list() == [3]
    assert tf.placeholder(tf.float32, [width, None]).shape.as_list() == [3, None]
    assert tf.convert_to_tensor(width).dtype is tf.int32
    assert tf.constant([width, 4]).dtype is tf.int32
    # A dimension that is not known makes no tensor.
    with pytest.raises(ValueError, match="not known"):
        tf.zeros([x.shape[0], 2])


def test_a_layer_is_written_as_in_version_one(x: Any) -> None:
    def dense(inputs: Any, units: int) -> Any:
        width = inputs.get_shape()[-1].value
        return tf.matmul(inputs, tf.get_variable("kernel", [width, units], initializer=tf.ones_initializer()))

    y = dense(x, 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y, {x: np.ones([1, 3])}).tolist() == [[3.0, 3.0]]


def test_functions_of_shapes_work_in_a_program_of_version_one(x: Any) -> None:
    """Gradients, images, contractions and the like look at shapes themselves."""
    y = tf.tensordot(tf.nn.softmax(x), tf.ones([3, 2]), 1)
    (grad,) = tf.gradients(tf.concat([y, tf.reduce_mean(x, 1, keepdims=True)], 1), x)
    image = tf.image.resize_image_with_crop_or_pad(tf.zeros([4, 5, 1]), 2, 7)
    with tf.Session() as sess:
        found = sess.run([grad, image, tf.unstack(x, axis=1)[0]], {x: np.ones([2, 3])})
    assert [value.shape for value in found] == [(2, 3), (2, 7, 1), (2,)]


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        (lambda: tf.TensorSpec([2, 3]), True),
        (lambda: tf.TensorSpec(None), True),
        (lambda: tf.zeros([5, 3]), True),
        (lambda: tf.placeholder(tf.float32), True),
        (lambda: tf.TensorSpec([2, 3], tf.int32), False),
        (lambda: tf.TensorSpec([2, 4]), False),
        (lambda: [1.0, 2.0, 3.0], False),
        (lambda: tf.SparseTensorSpec([None, 3]), False),
    ],
)
def test_a_description_of_a_tensor_accepts_what_may_be_one(given: Any, fits: bool) -> None:
    assert tf.TensorSpec([None, 3], tf.float32, "a").is_compatible_with(given()) is fits


def test_descriptions_of_tensors_are_made_of_tensors_and_of_each_other() -> None:
    made: Any = tf.TensorSpec.from_tensor(tf.zeros([2], name="z"))
    assert (made.shape, made.dtype, made.name) == ([2], tf.float32, "z")
    assert made.value_type is tf.Tensor
    assert tf.TensorSpec.from_tensor(tf.zeros([2]), "q").name == "q"
    with pytest.raises(ValueError, match=r"should be a tf\.Tensor"):
        tf.TensorSpec.from_tensor(1)
    assert tf.TensorSpec.from_spec(made) == made
    assert tf.TensorSpec.from_spec(made, "r").name == "r"
    assert repr(tf.TensorSpec([None], "int64", name="a")).endswith("name='a')")


def test_equal_descriptions_have_equal_parts() -> None:
    assert tf.TensorSpec([1, None], tf.float32, "x") == tf.TensorSpec((1, None), "float32", "x")
    assert tf.TensorSpec([1]) != tf.TensorSpec([1], name="x")
    assert tf.TensorSpec(None) == tf.TensorSpec(None)
    assert {tf.SparseTensorSpec([2]): 1}[tf.SparseTensorSpec([2])] == 1
    assert tf.SparseTensorSpec([2, None]) != tf.SparseTensorSpec([2])
    assert tf.IndexedSlicesSpec([2, 3]) == tf.IndexedSlicesSpec([2, 3])
    assert tf.TensorSpec([2]) != tf.SparseTensorSpec([2])
    assert isinstance(tf.TensorSpec([2]), tf.TypeSpec)
    one, other = tf.TensorSpec([2, 3]), tf.TensorSpec([2, 4])
    assert one.most_specific_compatible_type(other) == tf.TensorSpec([2, None])
    assert tf.SparseTensorSpec([2]).most_specific_compatible_type(tf.SparseTensorSpec([3])) == tf.SparseTensorSpec(
        [None]
    )
    for wrong in (tf.TensorSpec([2, 3], tf.int32), tf.TensorSpec([2, 3], name="a"), tf.SparseTensorSpec()):
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            one.most_specific_compatible_type(wrong)
    slices = tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1]))
    assert tf.IndexedSlicesSpec([None, 3], indices_dtype=tf.int32).is_compatible_with(slices)
    assert not tf.IndexedSlicesSpec().is_compatible_with(slices)
    assert tf.IndexedSlicesSpec().value_type is tf.IndexedSlices


def test_descriptions_of_sparse_tensors() -> None:
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 2])
    assert tf.SparseTensorSpec.from_value(sparse) == tf.SparseTensorSpec([2, 2])
    assert tf.SparseTensorSpec([2, None]).is_compatible_with(sparse)
    assert not tf.SparseTensorSpec([3, None]).is_compatible_with(sparse)
    assert tf.SparseTensorSpec.from_value(tf.SparseTensorValue([[0, 0]], [1.0], [2, 2])) == tf.SparseTensorSpec([2, 2])
    assert not tf.SparseTensorSpec([2]).is_compatible_with(3)
    assert tf.SparseTensorSpec([2], tf.int32).value_type is tf.SparseTensor
    with pytest.raises(TypeError, match="expected a SparseTensor"):
        tf.SparseTensorSpec.from_value(1)


def test_the_structure_of_a_dataset_consists_of_descriptions() -> None:
    sparse = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 3])
    dataset = tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": (sparse, [1, 2])})
    assert tf.data.experimental.get_structure(dataset) == {
        "a": tf.TensorSpec([]),
        "b": (tf.SparseTensorSpec([3]), tf.TensorSpec([], tf.int32)),
    }


nest: Any = tf.nest


Point = collections.namedtuple("Point", "y x")


@for_each(
    "structure, flat",
    [
        (3, [3]),
        ([1, (2, [3])], [1, 2, 3]),
        ({"b": 1, "a": [2]}, [2, 1]),
        (Point(y=1, x=2), [1, 2]),
        ("text", ["text"]),
        ([], []),
        (collections.OrderedDict([("z", 1), ("a", {"k": 2})]), [2, 1]),
    ],
)
def test_structures_are_taken_apart_and_put_together(structure: Any, flat: list[Any]) -> None:
    assert nest.flatten(structure) == flat
    again = nest.pack_sequence_as(structure, flat)
    assert again == structure
    assert type(again) is type(structure)


def test_what_is_put_together_has_to_fit() -> None:
    with pytest.raises(ValueError, match=r"Structure had 2 elements, but flat_sequence had 1"):
        nest.pack_sequence_as([1, 2], [3])
    with pytest.raises(ValueError, match=r"Structure is a scalar but len\(flat_sequence\) == 2 > 1"):
        nest.pack_sequence_as(1, [3, 4])
    with pytest.raises(TypeError, match="flat_sequence"):
        nest.pack_sequence_as([1], 3)
    with pytest.raises(TypeError, match="sortable keys"):
        nest.flatten({1: 2, "a": 3})


def test_functions_are_mapped_over_structures() -> None:
    one, other = {"a": [1, 2], "b": Point(3, 4)}, {"a": [10, 20], "b": Point(30, 40)}
    assert nest.map_structure(lambda x, y: x + y, one, other) == {"a": [11, 22], "b": Point(33, 44)}
    assert nest.map_structure_with_paths(lambda path, x: f"{path}={x}", one) == {
        "a": ["a/0=1", "a/1=2"],
        "b": Point("b/y=3", "b/x=4"),
    }
    with pytest.raises(TypeError, match=r"same sequence type|different types"):
        nest.map_structure(lambda x, y: x, [1], (1,))
    assert nest.map_structure(lambda x, y: x + y, [1], (1,), check_types=False) == [2]
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(len)
    with pytest.raises(TypeError, match="func must be callable"):
        nest.map_structure(3, [1])


@for_each(
    "one, other, error",
    [
        ([1], [1, 2], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        (1, [1], ValueError),
        ([1], (1,), TypeError),
        (Point(1, 2), (1, 2), TypeError),
        ({"a": 1}, [1], TypeError),
    ],
)
def test_structures_of_other_forms_are_told_apart(one: Any, other: Any, error: Any) -> None:
    with pytest.raises(error, match="The two structures don't have the same nested structure"):
        nest.assert_same_structure(one, other)
    nest.assert_same_structure(one, one)


def test_structures_are_flattened_as_far_as_another_one_goes() -> None:
    assert nest.flatten_up_to([0, {"k": 0}], [[1, 2], {"k": (3,)}]) == [[1, 2], (3,)]
    assert nest.map_structure_up_to([0, 0], lambda x, y: (x, y), [[1], 2], [3, [4]]) == [([1], 3), (2, [4])]
    with pytest.raises(ValueError, match="same sequence length"):
        nest.flatten_up_to([0], [1, 2])
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest.flatten_up_to([0], 1)
    # Dicts of structures become dicts of leaves.
    assert nest.flatten_dict_items({(1, 2): (3, 4), 5: 6}) == {1: 3, 2: 4, 5: 6}
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
        nest.flatten_dict_items({(1, 2): (3,)})
    with pytest.raises(ValueError, match="key 1 is not unique"):
        nest.flatten_dict_items({(1, 2): (3, 4), 1: 5})
    assert nest.flatten_with_tuple_paths({"b": [1], "a": 2}) == [(("a",), 2), (("b", 0), 1)]
    assert nest.flatten_with_joined_string_paths([{"k": 1}], "-") == [("0-k", 1)]
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})
    sparse = tf.SparseTensor([[0]], [1.0], [3])
    assert nest.flatten([sparse]) == [sparse]
    assert len(nest.flatten([sparse], expand_composites=True)) == 3


TWICE = r"Could not read index 0 twice because it was cleared after a previous read"


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def looped() -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, tf.TensorArray(tf.float32, 3)])[
        1
    ]


@for_each(
    "make",
    [
        lambda: tf.TensorArray(tf.float32, 3),
        lambda: tf.TensorArray(tf.float32, 3).write(1, 2.0),
        lambda: tf.TensorArray(tf.string, 2).unstack(["a", "b"]),
        lambda: tf.TensorArray(tf.float32, 2).split([1.0, 2.0], [1, 1]).identity(),
        looped,
        lambda: tf.cond(tf.constant(True), looped, lambda: tf.TensorArray(tf.float32, 3)),
    ],
)
def test_a_flow_that_is_fetched_is_the_number_0(make: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        found = run([make().flow])[0]
    assert (found.dtype, found.shape, float(found)) == (np.float32, (), 0.0)


def test_what_a_flow_waits_for_fails_when_it_is_fetched() -> None:
    written_twice = tf.TensorArray(tf.float32, 3).write(2, 3.0).write(2, 3.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 2 because it has already been"):
        run(written_twice.flow)
    # A dataset is no flow.
    with pytest.raises(TypeError, match="is a variant"):
        run(tf.data.Dataset.range(3)._variant_tensor)


# -- reads -----------------------------------------------------------------------------------------


MAKERS: list[Callable[..., Any]] = [
    lambda **more: tf.TensorArray(tf.float32, 2, **more).write(0, 3.0).write(1, 4.0),
    lambda **more: tf.TensorArray(tf.float32, 2, **more).unstack([3.0, 4.0]),
    lambda **more: tf.TensorArray(tf.float32, 2, **more).split([3.0, 4.0], [1, 1]),
]


READS: list[Callable[[Any], Any]] = [
    lambda array: array.read(0),
    lambda array: array.stack(),
    lambda array: array.gather([0]),
    lambda array: tf.reshape(array.stack(), [-1]),
]


@for_each("make", MAKERS)
@for_each("first", READS)
@for_each("second", READS)
def test_an_element_is_read_once(make: Any, first: Any, second: Any) -> None:
    with tf.Graph().as_default():
        array = make()
        before = first(array)
        with tf.control_dependencies([before]), pytest.raises(tf.errors.OpError, match=TWICE):
            run(second(array))
    with tf.Graph().as_default():
        array = make(clear_after_read=False)
        before = first(array)
        with tf.control_dependencies([before]):
            again = second(array)
        assert len(run([before, again])) == 2


def test_each_step_and_each_array_has_reads_of_its_own() -> None:
    """Two arrays that are made alike are two."""
    arrays = [tf.TensorArray(tf.float32, 1).write(0, 2.0) for _ in range(2)]
    read = [array.read(0) for array in arrays]
    with tf.Session() as session:
        assert [session.run(read) for _ in range(3)] == [[2.0, 2.0]] * 3


def test_a_loop_reads_each_element_once_and_so_does_its_gradient() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    total = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + array.read(i) ** 2.0), [0, 0.0])[1]
    (slope,) = tf.gradients(total, x)
    (second,) = tf.gradients(slope, x)
    assert [value.tolist() for value in run([total, slope, second])] == [14, [2, 4, 6], [2, 2, 2]]
    found = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + array.read(0)), [0, 0.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=TWICE):
        run(found)


def test_an_exported_array_reads_once_too(graph: Any) -> None:
    array = MAKERS[1]()
    tf.identity(array.read(0) + array.gather([0]), name="sum")
    message = GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with pytest.raises(tf.errors.InvalidArgumentError, match=TWICE):
            run("sum:0")


# -- elements that were never written --------------------------------------------------------------


def test_an_element_that_was_never_written_is_zero_in_the_shape_of_the_others() -> None:
    value = tf.placeholder(tf.float32)
    feeds = {value: [[4.0, 5.0]]}
    written = [tf.TensorArray(tf.float32, 3).write(1, value) for _ in range(3)]
    read, stacked, joined = written[0].read(0), written[1].stack(), written[2].concat()
    found = run([read, stacked, joined], feeds)
    assert found[0].tolist() == [[0, 0]]
    assert found[1].tolist() == [[[0, 0]], [[4, 5]], [[0, 0]]]
    assert found[2].tolist() == [[0, 0], [4, 5], [0, 0]]


@for_each(
    "value, lengths, said",
    [
        ([1.0, 2.0, 3.0], 1, r"Expected lengths to be a vector, received shape: \[\]"),
        ([1.0, 2.0, 3.0], [1], r"sum of lengths is 1 and value's shape is: \[3\]"),
        (1.0, [1], r"Expected value to be at least a vector, but received shape: \[\]"),
    ],
)
def test_parts_that_do_not_make_up_a_value_are_refused(value: Any, lengths: Any, said: str) -> None:
    with tf.Graph().as_default():
        fed, sizes = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
        array = tf.TensorArray(tf.float32, 3, infer_shape=False).split(fed, sizes)
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            run(array.flow, {fed: value, sizes: lengths})


def test_scalars_are_not_joined() -> None:
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, 4.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="saw a scalar shape at index 1"):
        run(array.concat())
