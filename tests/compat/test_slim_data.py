"""``slim``'s data sets, from files of examples to batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

slim: Any = tf.contrib.slim
decoder: Any = slim.tfexample_decoder


def example(**features: Any) -> bytes:
    made = tf.train.Example()
    for key, values in features.items():
        field = made.features.feature[key.replace("_", "/")]
        kind = type(values[0])
        named = {int: "int64_list", float: "float_list", bytes: "bytes_list"}[kind]
        getattr(field, named).value.extend(values)
    found: bytes = made.SerializeToString()
    return found


def test_records_of_several_files_come_as_items(tmp_path: Path) -> None:
    for name, labels in (("a-0", [0, 1]), ("a-1", [2, 3])):
        with tf.python_io.TFRecordWriter(str(tmp_path / name)) as writer:
            for label in labels:
                pixels = bytes([label] * 12)
                record = example(image_encoded=[pixels], image_format=[b"raw"], label=[label])
                writer.write(record)
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string, "raw"),
        "label": tf.FixedLenFeature([1], tf.int64),
    }
    items = {"image": decoder.Image(shape=[2, 2, 3]), "label": decoder.Tensor("label", shape=[])}
    data = slim.dataset.Dataset(
        str(tmp_path / "a-*"),
        tf.TFRecordReader,
        decoder.TFExampleDecoder(features, items),
        4,
        {"image": "a picture"},
        num_classes=4,
    )
    assert data.num_classes == 4
    provider = slim.dataset_data_provider.DatasetDataProvider(data, num_readers=2, shuffle=False, num_epochs=1)
    assert sorted(provider.list_items()) == ["image", "label", "record_key"]
    assert provider.num_samples() == 4
    image, label = provider.get(["image", "label"])
    with pytest.raises(ValueError, match=r"Item \[box\] is invalid"):
        provider.get(["box"])
    batches = slim.prefetch_queue.prefetch_queue({"image": image, "label": label}, capacity=2)
    taken = batches.dequeue()
    found = {}
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(4):
            got = sess.run(taken)
            found[int(got["label"])] = got["image"]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(taken)
        coord.request_stop()
        coord.join(threads)
    assert sorted(found) == [0, 1, 2, 3]
    assert all(np.array_equal(image, np.full((2, 2, 3), key)) for key, image in found.items())


def test_handlers_make_boxes_sparse_tensors_and_replacements() -> None:
    sides = {"b/ymin": [0.1, 0.5], "b/xmin": [0.2, 0.6], "b/ymax": [0.3, 0.7], "b/xmax": [0.4, 0.8]}
    features: dict[str, Any] = {key: tf.VarLenFeature(tf.float32) for key in sides}
    features |= {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "rows": tf.VarLenFeature(tf.int64),
        "none": tf.VarLenFeature(tf.int64),
        "size": tf.FixedLenFeature([2], tf.int64),
    }
    record = example(
        **{key.replace("/", "_"): value for key, value in sides.items()},
        indices=[1, 3],
        values=[5.0, 7.0],
        rows=[1, 2, 3, 4],
        size=[2, 2],
    )
    table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b", "c", "d", "e"])
    items = {
        "boxes": decoder.BoundingBox(prefix="b/"),
        "dense": decoder.SparseTensor(shape=[5], densify=True, default_value=-1.0),
        "square": decoder.Tensor("rows", shape_keys="size"),
        "backup": decoder.BackupHandler(decoder.Tensor("none"), decoder.Tensor("rows")),
        "names": decoder.LookupTensor("rows", table, default_value=0),
        "twice": decoder.ItemHandlerCallback(["rows"], lambda given: given["rows"].values * 2),
    }
    made = decoder.TFExampleDecoder(features, items)
    with tf.Session() as sess:
        tf.tables_initializer().run()
        found = dict(zip(items, sess.run(made.decode(record)), strict=True))
    assert np.allclose(found["boxes"], [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]])
    assert found["dense"].tolist() == [-1.0, 5.0, -1.0, 7.0, -1.0]
    assert found["square"].tolist() == [[1, 2], [3, 4]]
    assert found["backup"].tolist() == [1, 2, 3, 4]
    assert found["names"].tolist() == [b"b", b"c", b"d", b"e"]
    assert found["twice"].tolist() == [2, 4, 6, 8]


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="4 keys but got 2"):
        decoder.BoundingBox(["a", "b"])
    with pytest.raises(ValueError, match="both shape_keys and shape"):
        decoder.Tensor("a", "b", [1])
    with pytest.raises(ValueError, match="Backup handler"):
        decoder.BackupHandler(decoder.Tensor("a"), "b")
    with pytest.raises(TypeError, match=r"common_queue\.dtypes"):
        slim.parallel_reader.ParallelReader(tf.TFRecordReader, tf.FIFOQueue(2, [tf.string, tf.int64]))
    with pytest.raises(ValueError, match="No data files"):
        slim.parallel_reader.get_data_files([])
