"""The rows about what programs do with files, and ops that are slow without kernels in C; for both sides.

Both have TensorFlow 1's names, so each row is one program, which is given the module.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case, SyncCase
from .questions import Question

__all__ = ["FilesRows"]

_BATCH = 500


class FilesRows:
    """The rows of the group ``files``.

    Args:
        tf: the module with TensorFlow 1's names.
    """

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.builders: dict[str, Callable[[Question], Case]] = {
            "sparse-matmul": self._sparse_matmul,
            "depthwise": self._depthwise,
            "records-read": self._records,
            "examples-batch": self._batches_of_examples,
            "examples-single": self._single_examples,
            "histogram-events": self._histograms,
            "meta-graph-20000": self._meta_graph,
            "checkpoint-read": lambda question: self._checkpoint(question, 2),
            "checkpoint-read-v1": lambda question: self._checkpoint(question, 1),
            "checkpoint-restore": self._restore,
        }

    def _gradients(self, value: Any, weight: Any, variables: Sequence[Any]) -> list[Any]:
        """Return a loss and its gradients."""
        loss = self._tf.reduce_sum(value * weight)
        return [loss, *self._tf.gradients(loss, variables)]

    def _ran(self, graph: Any, fetches: Any) -> Case:
        """Return the case of a step that fetches what variables give."""
        with graph.as_default():
            start = self._tf.global_variables_initializer()
        session = self._tf.Session(graph=graph)
        session.run(start)

        def run() -> Any:
            return session.run(fetches)

        return SyncCase(run, run, closes=session.close)

    def _sparse_matmul(self, question: Question) -> Case:
        tf, given = self._tf, question.given
        with tf.Graph().as_default() as graph:
            values, dense = tf.Variable(given["values"]), tf.Variable(given["dense"])
            weight = tf.Variable(given["weight"])
            sparse = tf.SparseTensor(tf.constant(given["indices"]), values, given["shape"])
            product = tf.sparse_tensor_dense_matmul(sparse, dense)
            return self._ran(graph, self._gradients(product, weight, [values, dense]))

    def _depthwise(self, question: Question) -> Case:
        tf, given = self._tf, question.given
        with tf.Graph().as_default() as graph:
            x, kernel = tf.Variable(given["x"]), tf.Variable(given["kernel"])
            weight = tf.Variable(given["weight"])
            product = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
            return self._ran(graph, self._gradients(product, weight, [x, kernel]))

    # -- records and examples ------------------------------------------------------------------

    def _read(self, records: Sequence[bytes], spread: Callable[[Any], Any], size: Callable[[Any], float]) -> Case:
        """Return the case that goes once through a file of records.

        Args:
            records: those in the file.
            spread: what is made of the dataset of records.
            size: what is added up over its elements.
        """
        tf, folder = self._tf, Path(tempfile.mkdtemp())
        path = str(folder / "records")
        with tf.python_io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        with tf.Graph().as_default() as graph:
            dataset = spread(tf.data.TFRecordDataset(path))
            iterator = tf.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
        session = tf.Session(graph=graph)

        def read() -> list[float]:
            session.run(iterator.initializer)
            total = 0.0
            while True:
                try:
                    total += size(session.run(element))
                except tf.errors.OutOfRangeError:
                    return [total]

        def close() -> None:
            session.close()
            shutil.rmtree(folder)

        return SyncCase(read, read, closes=close)

    def _records(self, question: Question) -> Case:
        return self._read(
            question.given["records"],
            lambda dataset: dataset.batch(_BATCH),
            lambda batch: sum(map(len, batch.tolist())),
        )

    def _serialized(self, question: Question) -> list[bytes]:
        train, given = self._tf.train, question.given
        records = []
        for x, label, name, ids in zip(given["x"], given["label"], given["name"], given["ids"], strict=True):
            features = {
                "x": train.Feature(float_list=train.FloatList(value=x.tolist())),
                "label": train.Feature(int64_list=train.Int64List(value=[label])),
                "name": train.Feature(bytes_list=train.BytesList(value=[name])),
                "ids": train.Feature(int64_list=train.Int64List(value=ids)),
            }
            example = train.Example(features=train.Features(feature=features))
            records.append(example.SerializeToString())
        return records

    def _features(self, question: Question) -> dict[str, Any]:
        tf = self._tf
        return {
            "x": tf.FixedLenFeature(question.given["x"].shape[1:], tf.float32),
            "label": tf.FixedLenFeature([], tf.int64),
            "name": tf.FixedLenFeature([], tf.string),
            "ids": tf.VarLenFeature(tf.int64),
        }

    def _batches_of_examples(self, question: Question) -> Case:
        tf, features = self._tf, self._features(question)
        return self._read(
            self._serialized(question),
            lambda dataset: dataset.batch(_BATCH).map(lambda some: tf.parse_example(some, features)),
            _sum_of_batch,
        )

    def _single_examples(self, question: Question) -> Case:
        tf, features = self._tf, self._features(question)

        def parsed(record: Any) -> Any:
            found = tf.parse_single_example(record, features)
            found["ids"] = tf.reduce_sum(found["ids"].values)
            return found

        return self._read(self._serialized(question), lambda dataset: dataset.map(parsed).batch(_BATCH), _sum_of_batch)

    # -- events, graphs, checkpoints -----------------------------------------------------------

    def _histograms(self, question: Question) -> Case:
        tf, folder = self._tf, Path(tempfile.mkdtemp())
        with tf.Graph().as_default() as graph:
            values = [tf.Variable(value) for value in question.given["values"]]
            merged = tf.summary.merge([tf.summary.histogram(f"h{i}", value) for i, value in enumerate(values)])
            start = tf.global_variables_initializer()
        session = tf.Session(graph=graph)
        session.run(start)
        writer = tf.summary.FileWriter(str(folder))

        def write() -> Any:
            found = session.run(merged)
            writer.add_summary(found, 1)
            writer.flush()
            return found

        def answer() -> list[Any]:
            found = tf.Summary.FromString(write()).value
            return [[v.histo.num for v in found], [v.histo.sum for v in found]]

        def close() -> None:
            writer.close()
            session.close()
            shutil.rmtree(folder)

        return SyncCase(write, answer, closes=close)

    def _meta_graph(self, question: Question) -> Case:
        tf, folder = self._tf, Path(tempfile.mkdtemp())
        path, given = str(folder / "graph.meta"), question.given
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [], name="x")
            now = [x * scale for scale in given["scales"]]
            for layer in range(given["layers"]):
                pairs = zip(now, [*now[1:], now[0]], strict=True)
                now = [a + b if layer % 2 == 0 else a * 0.5 for a, b in pairs]
            tf.add_n(now, name="total")
            tf.train.export_meta_graph(path)

        def load() -> Any:
            with tf.Graph().as_default() as graph:
                tf.train.import_meta_graph(path)
            return graph

        def answer() -> list[Any]:
            with tf.Session(graph=load()) as session:
                return [session.run("total:0", {"x:0": given["x"]})]

        return SyncCase(load, answer, lambda: shutil.rmtree(folder), whole=True)

    def _saved(self, question: Question, version: int) -> tuple[Path, str, Any, Any, Any]:
        tf, folder = self._tf, Path(tempfile.mkdtemp())
        with tf.Graph().as_default() as graph:
            for name, value in question.given["values"].items():
                tf.Variable(value, name=name)
            start = tf.global_variables_initializer()
            saver = tf.train.Saver(write_version=version)
        session = tf.Session(graph=graph)
        session.run(start)
        path = saver.save(session, str(folder / "model"), write_meta_graph=False)
        return folder, path, graph, session, saver

    def _checkpoint(self, question: Question, version: int) -> Case:
        folder, path, _, session, _ = self._saved(question, version)
        session.close()

        def read() -> list[Any]:
            reader = self._tf.train.NewCheckpointReader(path)
            return [reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())]

        return SyncCase(read, lambda: [sum(v.sum() for v in read())], lambda: shutil.rmtree(folder))

    def _restore(self, question: Question) -> Case:
        folder, path, graph, session, saver = self._saved(question, 2)

        def restore() -> None:
            saver.restore(session, path)

        def answer() -> list[Any]:
            restore()
            with graph.as_default():
                return [sum(v.sum() for v in session.run(self._tf.global_variables()))]

        def close() -> None:
            session.close()
            shutil.rmtree(folder)

        return SyncCase(restore, answer, close)


def _sum_of_batch(batch: Any) -> float:
    ids = batch["ids"]
    total = float(batch["x"].sum(dtype=np.float64)) + int(batch["label"].sum())
    return total + sum(map(len, batch["name"].tolist())) + int(getattr(ids, "values", ids).sum())
