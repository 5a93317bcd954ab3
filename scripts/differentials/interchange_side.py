"""One side of the interchange: writes files with one library, or reads them and notes what it found.

Each exchange is a class with ``write`` and ``read``, which get ``tf`` and a folder; what ``read`` returns
consists of plain values. Variables, names and values are the same on both sides, and nothing is random.
"""

from __future__ import annotations

import json
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from .interchange_pipelines import Pipelines
from .side import OURS, face

__all__ = ["EXCHANGES", "MESSAGES", "main"]

# The file with the names of all messages, which the driver writes.
MESSAGES = "messages.json"


def main(arguments: Sequence[str]) -> int:
    """Run all exchanges of one side.

    Args:
        arguments: the library, ``write`` or ``read``, and the folder.

    Returns:
        The exit code: 1 if an exchange failed.
    """
    library, what, folder = arguments
    tf = face(library)
    if library != OURS:
        tf.disable_v2_behavior()
    found: dict[str, Any] = {}
    failed = 0
    for exchange in EXCHANGES:
        name = type(exchange).__name__
        place = os.path.join(folder, name)
        os.makedirs(place, exist_ok=True)
        try:
            with tf.Graph().as_default():
                if what == "write":
                    exchange.write(tf, place)
                else:
                    found[name] = plain(exchange.read(tf, place))
        except Exception:  # goes to the report, and the others go on
            failed = 1
            print(f"{name}: {traceback.format_exc()}", file=sys.stderr)
    if what == "read":
        with open(os.path.join(folder, f"found-{library}.json"), "w", encoding="utf-8") as out:
            json.dump(found, out)
    return failed


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def lines(message: Any) -> list[str]:
    """Return the lines of a message's text, sorted: maps have no order in protobuf."""
    return sorted(str(message).splitlines())


ROWS = np.arange(20, dtype=np.float32).reshape(5, 4) / 7


def variables(tf: Any, use_resource: bool | None) -> None:
    """Variables of many types, one of them in parts."""

    def part(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        first = partition_info.var_offset[0]
        return tf.constant(ROWS[first : first + int(shape[0])])

    with tf.variable_scope("net", use_resource=use_resource):
        for name, value in {
            "f": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3),
            "d": np.float64(1 / 3),
            "n": np.int64(7),
            "i": np.array([1, -2], np.int32),
            "u": np.array([0, 255], np.uint8),
            "h": np.float16(3.5),
            "b": np.array([True, False]),
            "c": np.complex64(1 + 2j),
            "e": np.zeros((0, 3), np.float32),
            "s": np.array([b"x", b"long" * 99], object),
        }.items():
            tf.get_variable(name, initializer=tf.constant(value))
        tf.get_variable("rows", [5, 4], initializer=part, partitioner=tf.fixed_size_partitioner(3))


class Checkpoint:
    """A checkpoint in one file, read tensor by tensor, and restored into the same graph."""

    sharded = False
    use_resource: bool | None = True

    def write(self, tf: Any, folder: str) -> None:
        variables(tf, self.use_resource)
        saver = tf.train.Saver(sharded=self.sharded, max_to_keep=2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(3):
                saver.save(session, os.path.join(folder, "model"), global_step=step)

    def read(self, tf: Any, folder: str) -> Any:
        state = tf.train.get_checkpoint_state(folder)
        latest = tf.train.latest_checkpoint(folder)
        reader = tf.train.NewCheckpointReader(latest)
        tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
        variables(tf, self.use_resource)
        with tf.Session() as session:
            tf.train.Saver(sharded=self.sharded).restore(session, latest)
            values = {v.op.name: session.run(v) for v in tf.global_variables()}
        return {
            "tensors": tensors,
            "values": values,
            "shapes": dict(tf.train.list_variables(latest)),
            "kept": [os.path.basename(path) for path in state.all_model_checkpoint_paths],
            "latest": os.path.basename(latest),
            "files": sorted(name for name in os.listdir(folder)),
        }


class ShardedCheckpoint(Checkpoint):
    """A checkpoint of a sharded saver."""

    sharded = True


class CheckpointOfReferences(Checkpoint):
    """A checkpoint of variables as TensorFlow 1 makes them by default."""

    use_resource = None


class MetaGraph:
    """A graph with its saver, optimiser, collections and queue runner, which trains on where it is read."""

    use_resource: bool | None = True

    def write(self, tf: Any, folder: str) -> None:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.variable_scope("net", use_resource=self.use_resource):
            w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32) / 3)
            step = tf.train.get_or_create_global_step()
        y = tf.identity(tf.nn.relu(tf.matmul(x, w)), name="y")
        z = tf.cond(tf.reduce_sum(y) > 1.0, lambda: y * 2.0, lambda: y - 1.0)
        total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + i), [0, 10])[1]
        loss = tf.reduce_mean(tf.square(y - 1.0), name="loss")
        train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step, name="train")
        for key, value in {"y": y, "z": z, "total": total, "train": train, "rate": 0.5, "name": "net"}.items():
            tf.add_to_collection(key, value)
        queue = tf.FIFOQueue(4, tf.float32, shapes=[()], name="queue")
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(3.0)]))
        tf.add_to_collection("item", queue.dequeue(name="item"))
        saver = tf.train.Saver(max_to_keep=7)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {x: np.ones((2, 3))})
            saver.save(session, os.path.join(folder, "model"))
        saver.export_meta_graph(os.path.join(folder, "text.meta"), as_text=True)

    def read(self, tf: Any, folder: str) -> Any:
        found = {}
        for file, scope in (("model.meta", None), ("text.meta", "again")):
            with tf.Graph().as_default(), tf.Session() as session:
                path = os.path.join(folder, file)
                saver = tf.train.import_meta_graph(path, clear_devices=True, import_scope=scope)
                saver.restore(session, os.path.join(folder, "model"))
                feeds = {f"{scope}/x:0" if scope else "x:0": np.eye(3)}
                get = {key: tf.get_collection(key)[0] for key in tf.get_default_graph().collections}
                session.run(get["train"], feeds)
                coord = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coord)
                found[file] = {
                    "y": session.run(get["y"], feeds),
                    "z": session.run(get["z"], feeds),
                    "total": session.run(get["total"]),
                    "item": session.run(get["item"]),
                    "rate": get["rate"],
                    "name": get["name"],
                    "threads": len(threads),
                    "step": session.run(tf.train.get_global_step()),
                    "variables": sorted(v.name for v in tf.global_variables()),
                    "trainable": sorted(v.name for v in tf.trainable_variables()),
                    "kept": saver.as_saver_def().max_to_keep,
                }
                coord.request_stop()
                session.run(f"{scope}/queue_Close_1" if scope else "queue_Close_1")
                coord.join(threads, stop_grace_period_secs=10)
        return found


class MetaGraphOfReferences(MetaGraph):
    """The same with variables as TensorFlow 1 makes them by default."""

    use_resource = None


class FrozenGraph:
    """A graph whose variables are constants, as bytes and as text."""

    def write(self, tf: Any, folder: str) -> None:
        x = tf.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        kernel = tf.get_variable("kernel", initializer=np.arange(18, dtype=np.float32).reshape(3, 3, 1, 2))
        y = tf.nn.max_pool(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        tf.nn.softmax(tf.reshape(y, [-1, 8]) / 100.0, name="out")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            frozen = tf.graph_util.convert_variables_to_constants(
                session, tf.get_default_graph().as_graph_def(), ["out"]
            )
        frozen = tf.graph_util.remove_training_nodes(frozen)
        tf.train.write_graph(frozen, folder, "frozen.pb", as_text=False)
        tf.io.write_graph(frozen, folder, "frozen.pbtxt")

    def read(self, tf: Any, folder: str) -> Any:
        graph_def = tf.GraphDef()
        with tf.gfile.GFile(os.path.join(folder, "frozen.pb"), "rb") as file:
            graph_def.ParseFromString(file.read())
        (out,) = tf.import_graph_def(graph_def, return_elements=["out:0"], name="")
        ops = [node.op for node in graph_def.node]
        with tf.Session() as session:
            value = session.run(out, {"x:0": np.arange(16.0).reshape(1, 4, 4, 1)})
        part = tf.graph_util.extract_sub_graph(graph_def, ["kernel"])
        return {
            "value": value,
            "variables": [op for op in ops if "Variable" in op or op == "VarHandleOp"],
            "part": [node.name for node in part.node],
            "text": _text_of(tf, graph_def, folder),
        }


def _text_of(tf: Any, graph_def: Any, folder: str) -> bool:
    """Whether the graph as text is the same as the one of bytes."""
    kind = type(graph_def)
    if kind.__module__.startswith("actorsession"):
        text_format: Any = import_module("actorsession.interop.text_format")
    else:
        text_format = import_module("google.protobuf.text_format")
        graph_def.DiscardUnknownFields()  # our checksum, which text has as a comment
    with tf.gfile.GFile(os.path.join(folder, "frozen.pbtxt")) as file:
        return bool(text_format.Parse(file.read(), kind()) == graph_def)


class Records:
    """TFRecords with examples, plain and compressed."""

    def write(self, tf: Any, folder: str) -> None:
        for name, how in (("plain", ""), ("small", "GZIP"), ("other", "ZLIB")):
            options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, how or "NONE"))
            with tf.python_io.TFRecordWriter(os.path.join(folder, name), options) as writer:
                for number in range(3):
                    example = tf.train.Example()
                    features = example.features.feature
                    features["n"].int64_list.value.extend([number, -number])
                    features["f"].float_list.value.append(number / 3)
                    features["s"].bytes_list.value.append(b"\x00\xff" * number)
                    writer.write(example.SerializeToString())

    def read(self, tf: Any, folder: str) -> Any:
        found = {}
        for name, how in (("plain", "NONE"), ("small", "GZIP"), ("other", "ZLIB")):
            options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, how))
            records = list(tf.python_io.tf_record_iterator(os.path.join(folder, name), options))
            parsed = tf.parse_example(
                records,
                {
                    "n": tf.FixedLenFeature([2], tf.int64),
                    "f": tf.FixedLenFeature([], tf.float32),
                    "s": tf.FixedLenFeature([], tf.string),
                },
            )
            with tf.Session() as session:
                found[name] = session.run(parsed)
            found[f"{name} as text"] = [lines(tf.train.Example.FromString(each)) for each in records]
        return found


class Events:
    """An event file with summaries, a graph, a session log and run metadata."""

    def write(self, tf: Any, folder: str) -> None:
        x = tf.placeholder(tf.float32, [4])
        tf.summary.scalar("mean", tf.reduce_mean(x))
        tf.summary.histogram("values", x)
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(folder, graph=tf.get_default_graph())
        with tf.Session() as session:
            for step in range(2):
                writer.add_summary(session.run(merged, {x: np.arange(4) * (step + 1)}), step)
            metadata = tf.RunMetadata()
            session.run(merged, {x: np.ones(4)}, tf.RunOptions(trace_level=3), metadata)
            writer.add_run_metadata(metadata, "traced", 2)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 0)
        writer.close()

    def read(self, tf: Any, folder: str) -> Any:
        (name,) = [each for each in os.listdir(folder) if "tfevents" in each]
        found = []
        for event in tf.train.summary_iterator(os.path.join(folder, name)):
            kind = event.WhichOneof("what")
            said: Any = {"kind": kind, "step": event.step}
            if kind == "summary":
                said["values"] = [str(value) for value in event.summary.value]
            elif kind == "tagged_run_metadata":
                parsed = tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
                said["devices"] = [device.device for device in parsed.step_stats.dev_stats]
            elif kind == "graph_def":
                graph = tf.GraphDef.FromString(event.graph_def)
                said["nodes"] = [(node.name, node.op) for node in graph.node]
            found.append(said)
        return found


class SavedModel:
    """A model for serving: signatures, an asset, and an operation that runs first."""

    use_resource: bool | None = True

    def write(self, tf: Any, folder: str) -> None:
        words = os.path.join(folder, "words.txt")
        with open(words, "w", encoding="utf-8") as out:
            out.write("zero\none\n")
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.variable_scope("net", use_resource=self.use_resource):
            w = tf.get_variable("w", initializer=np.array([[1.0], [2.0]], np.float32))
            started = tf.get_variable("started", initializer=0, trainable=False)
        y = tf.matmul(x, w, name="y")
        asset = tf.constant(words, name="asset")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        content = tf.read_file(asset, name="content")
        first = tf.group(tf.assign(started, 5), name="first")
        utils = tf.saved_model.signature_def_utils
        info = tf.saved_model.utils.build_tensor_info
        signature = utils.build_signature_def(
            {"x": info(x)},
            {"y": info(y), "content": info(content)},
            tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        builder = tf.saved_model.builder.SavedModelBuilder(os.path.join(folder, "model"))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            builder.add_meta_graph_and_variables(
                session,
                [tf.saved_model.tag_constants.SERVING],
                signature_def_map={"serving_default": signature},
                assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
                main_op=first,
            )
            builder.save()
            tf.saved_model.simple_save(session, os.path.join(folder, "simple"), {"x": x}, {"y": y})

    def read(self, tf: Any, folder: str) -> Any:
        found: dict[str, Any] = {}
        for name in ("model", "simple"):
            path = os.path.join(folder, name)
            with tf.Graph().as_default(), tf.Session() as session:
                model = tf.saved_model.loader.load(session, ["serve"], path)
                signature = model.signature_def["serving_default"]
                fetches = {key: info.name for key, info in signature.outputs.items()}
                values = session.run(fetches, {signature.inputs["x"].name: [[1.0, 1.0]]})
                found[name] = {
                    "values": values,
                    "method": signature.method_name,
                    "signature": lines(signature),
                    "started": [session.run(v) for v in tf.global_variables() if "started" in v.name],
                    "there": tf.saved_model.loader.maybe_saved_model_directory(path),
                    "tags": list(model.meta_info_def.tags),
                    "files": sorted(os.listdir(path)),
                    "values of": sorted(os.listdir(f"{path}/variables")),
                    "assets": [asset.filename for asset in model.asset_file_def],
                }
        return found


class SavedModelOfReferences(SavedModel):
    """The same with variables as TensorFlow 1 makes them by default."""

    use_resource = None


class RunMetadata:
    """The report of a traced run, and the settings of sessions and servers, as bytes."""

    def write(self, tf: Any, folder: str) -> None:
        metadata = tf.RunMetadata()
        config = tf.ConfigProto(allow_soft_placement=True, device_count={"CPU": 2})
        config.gpu_options.per_process_gpu_memory_fraction = 0.333
        config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[100, 200])
        config.graph_options.rewrite_options.constant_folding = 2
        config.experimental.session_metadata.version = 3
        x = tf.placeholder(tf.float32, [2, 2])
        with tf.Session(config=config) as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
            session.run(tf.matmul(x, x), {x: np.eye(2)}, options, metadata)
        cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:3"}}).as_cluster_def()
        server = tf.train.ServerDef(cluster=cluster, job_name="worker", protocol="grpc")
        server.default_session_config.CopyFrom(config)
        histogram = tf.HistogramProto(min=-1, max=2.5, num=2, bucket_limit=[0, 3], bucket=[1, 1])
        sequence = tf.train.SequenceExample()
        sequence.feature_lists.feature_list["f"].feature.add().float_list.value.append(0.1)
        for name, message in {
            "RunMetadata": metadata,
            "ConfigProto": config,
            "RunOptions": options,
            "ServerDef": server,
            "HistogramProto": histogram,
            "SequenceExample": sequence,
        }.items():
            with open(os.path.join(folder, name), "wb") as out:
                out.write(message.SerializeToString())

    def read(self, tf: Any, folder: str) -> Any:
        found = {}
        for name in sorted(os.listdir(folder)):
            kind = getattr(tf, name, None) or getattr(tf.train, name)
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            message = kind.FromString(content)
            again = kind.FromString(message.SerializeToString())
            found[name] = [lines(message), again == message, message.ByteSize()]
        return found


class Fields:
    """The fields of all messages that this library has, by name and number."""

    def write(self, tf: Any, folder: str) -> None:
        """Write nothing: each side knows its own."""

    def read(self, tf: Any, folder: str) -> Any:
        find = _our_fields if tf.__name__.startswith("actorsession") else _their_fields
        with open(os.path.join(folder, os.pardir, MESSAGES), encoding="utf-8") as file:
            return {name: find(name) for name in json.load(file)}


# Fields of TensorFlow 1, which version 2.21 has no longer.
_OLDER_FIELDS = ("CodeDef.Trace.file", "CodeDef.Trace.function", "CodeDef.Trace.line")


def _our_fields(name: str) -> Any:
    tabled: Any = import_module("actorsession.interop.tabled")
    return {
        field.name: [field.number, field.type, field.is_repeated, field.oneof]
        for field in tabled.message_class(name).FIELDS.values()
        if f"{name}.{field.name}" not in _OLDER_FIELDS
    }


# The packages of messages, with what holds their modules.
_PACKAGES: dict[str, tuple[str, ...]] = {
    "tensorflow": ("tensorflow.core.framework", "tensorflow.core.protobuf"),
    "tensorflow.tfprof": ("tensorflow.core.profiler",),
    "google.protobuf": (),
    "tensorboard.projector": ("tensorboard.plugins.projector",),  # which comes with TensorFlow
    "third_party.tensorflow.python.keras.protobuf": ("tensorflow.python.keras.protobuf",),
}
_OTHER_NAMES = {"SavedMetadata.Node": "third_party.tensorflow.python.keras.protobuf.SavedObject"}


@cache
def _their_messages() -> Any:
    for above in chain.from_iterable(_PACKAGES.values()):
        for module in pkgutil.iter_modules(import_module(above).__path__, f"{above}."):
            if module.name.endswith("_pb2"):
                import_module(module.name)
    return import_module("google.protobuf.descriptor_pool").Default()


def _their_message(name: str) -> Any:
    names = [_OTHER_NAMES[name]] if name in _OTHER_NAMES else [f"{package}.{name}" for package in _PACKAGES]
    for each in names:
        with suppress(KeyError):
            return _their_messages().FindMessageTypeByName(each)
    raise LookupError(f"TensorFlow has no message {name}")


def _their_fields(name: str) -> Any:
    return {
        field.name: [
            field.number,
            field.type,
            field.is_repeated,
            field.containing_oneof.name if field.containing_oneof else "",
        ]
        for field in _their_message(name).fields
    }


EXCHANGES: list[Any] = [
    Checkpoint(),
    ShardedCheckpoint(),
    CheckpointOfReferences(),
    MetaGraph(),
    MetaGraphOfReferences(),
    FrozenGraph(),
    Records(),
    Events(),
    SavedModel(),
    SavedModelOfReferences(),
    RunMetadata(),
    Fields(),
    Pipelines(),
]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
