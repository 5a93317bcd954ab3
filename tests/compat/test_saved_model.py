"""Saved models: what TensorFlow wrote is loaded (see saved_model/README.md), and what is written here is."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.saved_model import signature_def_utils, tag_constants, utils
from actorsession.interop.saved_models import SavedModel, read_saved_model, write_saved_model

pytestmark = pytest.mark.usefixtures("graph")

THEIRS = Path(__file__).parent / "saved_model" / "half_plus"
SERVE = [tag_constants.SERVING]


# -- loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", [None, "in/side"])
def test_a_model_of_tensorflow_gives_its_values(scope: str | None) -> None:
    with tf.Session(graph=tf.Graph()) as sess:
        found = tf.saved_model.loader.load(sess, SERVE, str(THEIRS), import_scope=scope)
        assert list(found.meta_info_def.tags) == SERVE
        signature = found.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        x, y = (
            utils.get_tensor_from_tensor_info(infos[key], sess.graph, scope)
            for infos, key in ((signature.inputs, "x"), (signature.outputs, "y"))
        )
        assert x.shape.as_list() == [None, 2]
        assert sess.run(y, {x: [[2, 4], [0, 0]]}).tolist() == [[4], [2]]


def test_the_first_operation_runs_with_the_files_of_the_model(tmp_path: Path) -> None:
    moved = shutil.copytree(THEIRS, tmp_path / "moved")
    (moved / "assets" / "words.txt").write_text("three")
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, SERVE, moved)
        assert sess.run("words:0") == b"three"


def test_a_graph_is_found_by_all_of_its_tags(tmp_path: Path) -> None:
    with tf.Session() as sess:
        assert dict(tf.saved_model.load(sess, {"gpu", "serve"}, THEIRS).signature_def) == {}
        for tags in (["gpu"], ["serve", "gpu", "more"], "serve"):
            with pytest.raises(RuntimeError, match=r"tags .* could not be found .*\['gpu', 'serve'\]"):
                tf.saved_model.load(sess, tags, THEIRS)
    # More than one first operation is refused.
    model = read_saved_model(THEIRS)
    model.meta_graphs[0].collection_def["saved_model_main_op"].node_list.value.append("first")
    moved = shutil.copytree(THEIRS, tmp_path / "moved")
    write_saved_model(model, moved)
    with tf.Session() as sess, pytest.raises(RuntimeError, match="exactly one op"):
        tf.saved_model.load(sess, SERVE, moved)
    # A folder without a model is refused.
    assert tf.saved_model.contains_saved_model(THEIRS)
    assert not tf.saved_model.loader.maybe_saved_model_directory(str(tmp_path))
    with tf.Session() as sess:
        with pytest.raises(OSError, match=r"SavedModel file does not exist at: .*saved_model.pbtxt"):
            tf.saved_model.load(sess, SERVE, tmp_path)
        (tmp_path / "saved_model.pb").write_bytes(b"\x0a\x05")
        with pytest.raises(OSError, match="Cannot parse file"):
            tf.saved_model.load(sess, SERVE, tmp_path)


# -- models of TensorFlow 2 ------------------------------------------------------------------------

SIGNATURES = [
    ("module", "product"),
    ("module", "counted"),
    ("module", "flow"),
    ("module", "spoken"),
    ("module", "wrapped"),
    ("module", "slope"),
    ("network", "serving_default"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of TensorFlow 2, and the values that their signatures gave there."""
    folder = tmp_path_factory.mktemp("served")
    with tarfile.open(THEIRS.parent / "served.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def stored(folder: Path, model: str, signature: str, kind: str) -> dict[str, Any]:
    """The inputs ("in") or the outputs ("out") of a signature, by name."""
    with np.load(folder / "values.npz") as values:
        before = f"{model}/{signature}/{kind}/"
        return {k.removeprefix(before): values[k] for k in values.files if k.startswith(before)}


def tensors(infos: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, info in infos.items():
        parts = info.composite_tensor.components
        found |= {f"{key}/{at}": part.name for at, part in enumerate(parts)} or {key: info.name}
    return found


def run_signature(sess: Any, signature: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    names = tensors(signature.inputs)
    feeds = {names[key]: value for key, value in given.items()}
    return dict(sess.run(tensors(signature.outputs), feeds))


def check(got: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        array = np.asarray(got[key])
        array = array.astype("S") if array.dtype == object else array
        assert (array.dtype, array.shape) == (value.dtype, value.shape)
        if value.dtype.kind == "f":
            np.testing.assert_allclose(array, value, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize(("model", "name"), SIGNATURES)
@pytest.mark.parametrize("scope", [None, "in/side"])
def test_signatures_of_tensorflow_2_give_its_values(served: Path, model: str, name: str, scope: str | None) -> None:
    with tf.Session() as sess:
        signature = tf.saved_model.load(sess, SERVE, served / model, import_scope=scope).signature_def[name]
        for infos in (signature.inputs, signature.outputs) if scope else ():
            for info in infos.values():
                for part in info.composite_tensor.components or [info]:
                    part.name = f"{scope}/{part.name}"
        got = run_signature(sess, signature, stored(served, model, name, "in"))
    check(got, stored(served, model, name, "out"))


def test_variables_of_tensorflow_2_keep_what_signatures_assign(served: Path) -> None:
    with tf.Session() as sess:
        found = tf.saved_model.load(sess, SERVE, served / "module")
        counted = found.signature_def["counted"]
        assert [run_signature(sess, counted, {})["count"] for _ in range(3)] == [1, 2, 3]
        run_signature(
            sess, found.signature_def["flow"], stored(served, "module", "flow", "in")
        )  # its loop adds 10 twice
        assert run_signature(sess, counted, {})["count"] == 24
        assert sess.run("count/Read/ReadVariableOp:0") == 24
        assert sess.run("kernel/Read/ReadVariableOp:0").tolist() == [[1, 2], [3, 4]]


def test_parts_of_ragged_tensors_have_numbers(served: Path) -> None:
    spoken = tf.contrib.predictor.from_saved_model(str(served / "module"), "spoken")
    with spoken.session:
        found = spoken({"text": [b"two a", b"b"]})
    assert {key: value.tolist() for key, value in found.items()} == {
        "numbers": [1, -1, -1],
        "parts/0": [b"two", b"a", b"b"],
        "parts/1": [0, 2, 3],
        "prices": [0, 2.5],
    }
    with tf.Session() as sess:
        signature = tf.saved_model.load(sess, SERVE, served / "module").signature_def["spoken"]
        with pytest.raises(ValueError, match=r"several tensors .*Call.*:1', '.*:2'"):
            utils.get_tensor_from_tensor_info(signature.outputs["parts"])


def test_a_model_of_tensorflow_2_whose_graph_is_written_again_gives_the_same(served: Path, tmp_path: Path) -> None:
    again = shutil.copytree(served / "module", tmp_path / "again")
    model = read_saved_model(again)
    with tf.Session() as sess:
        tf.saved_model.load(sess, SERVE, again)
        graph: Any = sess.graph
        model.meta_graphs[0].graph_def.CopyFrom(graph.as_graph_def(add_shapes=True))
    write_saved_model(model, again)
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.load(sess, SERVE, again)
        for _, name in SIGNATURES[:-1]:
            given = stored(served, "module", name, "in")
            check(run_signature(sess, found.signature_def[name], given), stored(served, "module", name, "out"))


# -- writing ---------------------------------------------------------------------------------------


def model() -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    return x, tf.matmul(x, tf.get_variable("w", initializer=[[1.0], [2.0]]), name="y")


@pytest.mark.parametrize("as_text", [False, True], ids=["bytes", "text"])
def test_what_is_written_is_loaded(tmp_path: Path, as_text: bool) -> None:
    x, y = model()
    (tmp_path / "words.txt").write_text("in the file")
    path = tf.constant(str(tmp_path / "words.txt"), name="path")
    said = tf.get_variable("said", initializer="", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    first = tf.group(tf.assign(said, tf.read_file(path)), name="first")
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
    signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(SERVE)
        builder.add_meta_graph_and_variables(sess, SERVE, {"serving_default": signature}, [path], main_op=first)
        with pytest.raises(AssertionError, match="has already been saved"):
            builder.add_meta_graph_and_variables(sess, SERVE)
        builder.add_meta_graph(["train", "serve"])
    name = "saved_model.pbtxt" if as_text else "saved_model.pb"
    assert builder.save(as_text) == str(tmp_path / "model" / name).encode()
    (tmp_path / "words.txt").unlink()
    for tags in (SERVE, ["train", "serve"]):
        with tf.Session(graph=tf.Graph()) as sess:
            found = tf.saved_model.load(sess, tags, tmp_path / "model")
            assert sess.run("y:0", {"x:0": [[3, 4]]}).tolist() == [[11]]
            if tags == SERVE:
                assert found.signature_def["serving_default"] == signature
                assert sess.run("said:0") == b"in the file"


def test_a_model_may_have_no_variables(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, name="x")
    with tf.Session() as sess:
        tf.saved_model.simple_save(sess, tmp_path / "model", {"x": x}, {"y": tf.square(x, name="y")})
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, SERVE, tmp_path / "model")
        assert sess.run("y:0", {"x:0": 3}) == 9


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        tf.saved_model.Builder(tmp_path)
    x, _ = model()
    builder = tf.saved_model.Builder(tmp_path / "model")
    nothing = tf.saved_model.build_signature_def({"x": type(utils.build_tensor_info(x))()})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(AssertionError, match="signature 'key' has no tensor or no dtype"):
            builder.add_meta_graph_and_variables(sess, SERVE, {"key": nothing})
        with pytest.raises(TypeError, match="main_op needs to be an Operation: 3"):
            builder.add_meta_graph_and_variables(sess, SERVE, main_op=3)
        with pytest.raises(ValueError, match="Invalid asset file path tensor"):
            builder.add_meta_graph_and_variables(sess, SERVE, assets_collection=[x])


def test_what_initializes_all_is_an_operation() -> None:
    w = tf.get_variable("w", initializer=1.0)
    with tf.Session() as sess:
        sess.run(tf.saved_model.main_op.main_op())
        assert sess.run(w) == 1
    # The message counts its version.
    assert read_saved_model(THEIRS).saved_model_schema_version == 1
    assert isinstance(read_saved_model(THEIRS), SavedModel)


# -- signatures ------------------------------------------------------------------------------------


def test_constants_are_those_of_who_serves() -> None:
    keys = tf.saved_model.signature_constants
    assert {name: getattr(keys, name) for name in keys.__all__} == {
        "CLASSIFY_INPUTS": "inputs",
        "CLASSIFY_METHOD_NAME": "tensorflow/serving/classify",
        "CLASSIFY_OUTPUT_CLASSES": "classes",
        "CLASSIFY_OUTPUT_SCORES": "scores",
        "DEFAULT_SERVING_SIGNATURE_DEF_KEY": "serving_default",
        "PREDICT_INPUTS": "inputs",
        "PREDICT_METHOD_NAME": "tensorflow/serving/predict",
        "PREDICT_OUTPUTS": "outputs",
        "REGRESS_INPUTS": "inputs",
        "REGRESS_METHOD_NAME": "tensorflow/serving/regress",
        "REGRESS_OUTPUTS": "outputs",
    }
    assert (tag_constants.TRAINING, tag_constants.GPU, tag_constants.TPU) == ("train", "gpu", "tpu")
    assert tf.saved_model.constants.MAIN_OP_KEY == "saved_model_main_op"
    assert [name for name in tf.saved_model.__all__ if not hasattr(tf.saved_model, name)] == []


def test_tensors_are_found_again_by_what_is_said_of_them() -> None:
    x = tf.placeholder(tf.int64, [None, 3], name="x")
    info = utils.build_tensor_info(x)
    assert (info.name, info.dtype, [d.size for d in info.tensor_shape.dim]) == ("x:0", 9, [-1, 3])
    assert utils.get_tensor_from_tensor_info(info) is x
    sparse = tf.sparse_placeholder(tf.float32, [3, 4], name="s")
    info = utils.build_tensor_info(sparse)
    assert info.coo_sparse.values_tensor_name == sparse.values.name
    found: Any = utils.get_tensor_from_tensor_info(info)
    assert (found.indices, found.dense_shape) == (sparse.indices, sparse.dense_shape)
    with pytest.raises(TypeError, match="got int: 3"):
        utils.build_tensor_info(3)
    with pytest.raises(ValueError, match=r"Invalid TensorInfo\.encoding: None"):
        utils.get_tensor_from_tensor_info(type(info)())
    with pytest.raises(KeyError, match="other/x"):
        utils.get_tensor_from_tensor_info(utils.build_tensor_info(x), import_scope="other")


def test_signatures_are_valid_if_who_serves_makes_sense_of_them() -> None:
    text, number, whole = tf.constant("e"), tf.constant(1.0), tf.constant(1)
    made = signature_def_utils
    for valid in (
        made.predict_signature_def({"a": whole}, {"b": whole}),
        made.regression_signature_def(text, number),
        made.classification_signature_def(text, text, number),
        made.classification_signature_def(text, None, number),
        made.classification_signature_def(text, text, None),
    ):
        assert made.is_valid_signature(valid)
        other = valid.copy()
        other.inputs.clear()
        assert not made.is_valid_signature(other)
        other = valid.copy()
        other.method_name = "other"
        assert not made.is_valid_signature(other)
    assert not made.is_valid_signature(made.build_signature_def())
    assert not made.is_valid_signature(None)
    given = made.build_signature_def({"a": utils.build_tensor_info(whole)}, defaults={"a": 3})
    assert tf.make_ndarray(given.defaults["a"]) == 3


def test_a_graph_has_one_main_op(tmp_path: Path) -> None:
    with tf.Session() as sess:
        tf.saved_model.load(sess, SERVE, THEIRS)
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "again"))
        first = sess.graph.get_operation_by_name("first")
        with pytest.raises(ValueError, match="already contains one or more main ops"):
            builder.add_meta_graph_and_variables(sess, SERVE, main_op=first)


def test_signatures_that_say_too_little_are_refused() -> None:
    text, number, whole = tf.constant("e"), tf.constant(1.0), tf.constant(1)
    made = signature_def_utils
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: made.predict_signature_def({}, {"b": whole}), "`inputs` cannot be None or empty"),
        (lambda: made.predict_signature_def({"a": whole}, None), "`outputs` cannot be None or"),
        (lambda: made.regression_signature_def(None, number), "`examples` cannot be None"),
        (lambda: made.regression_signature_def(text, None), "`predictions` cannot be None"),
        (lambda: made.regression_signature_def(whole, number), "input .* string. .*type int32"),
        (lambda: made.regression_signature_def(text, whole), "output .* float. .*type int32"),
        (lambda: made.classification_signature_def(None, text, None), "`examples` cannot be"),
        (lambda: made.classification_signature_def(text, None, None), "cannot both be None"),
        (lambda: made.classification_signature_def(whole, text, None), "input .* string. .*int32"),
        (lambda: made.classification_signature_def(text, whole, None), "classes must be .*string"),
        (lambda: made.classification_signature_def(text, None, whole), "scores must be a float"),
    ]
    for call, match in cases:
        with pytest.raises(ValueError, match=match):
            call()


def test_the_files_of_tables_go_with_the_model(tmp_path: Path) -> None:
    """Two files of one name, and one of them twice; the model is moved, and its sources are gone."""
    sources = [tmp_path / name / "words.txt" for name in ("a", "b")]
    for number, source in enumerate(sources):
        source.parent.mkdir()
        source.write_text(f"zero{number}\none{number}\n")
    x = tf.placeholder(tf.string, [None], name="x")
    tables = [
        tf.contrib.lookup.index_table_from_file(str(sources[0])),
        tf.contrib.lookup.index_table_from_file(str(sources[1])),
        tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(str(sources[1]), tf.string, 0, tf.int64, -1), 1),
    ]
    y = tf.stack([table.lookup(x) for table in tables], name="y")
    assert len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)) == 3
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        first = tf.tables_initializer()
        tf.saved_model.simple_save(sess, tmp_path / "model", {"x": x}, {"y": y}, first)
    for source in sources:
        source.unlink()
    moved = (tmp_path / "model").rename(tmp_path / "moved")
    assert sorted(file.name for file in (moved / "assets").iterdir()) == ["words.txt", "words.txt_1"]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], moved)
        found = sess.run("y:0", {"x:0": ["one0", "one1"]})
    assert found.tolist() == [[1, -1], [-1, 1], [2, 1]]


def test_a_file_that_is_fed_to_a_table_is_no_asset() -> None:
    init = tf.lookup.TextFileInitializer(tf.placeholder(tf.string, []), tf.string, -2, tf.int64, -1)
    tf.lookup.StaticHashTable(init, -1)
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) == []
