"""Spoils what readers read, and looks at what comes out: a value, or an error of ours.

``READERS`` has the functions that read files, variables or bytes that somebody else may have written, and the
commands that do: a row with valid files and how they are read. ``spoil_files`` reads spoilt files for as long
as it is told to, and returns what came out wrong; ``spoil_arguments`` does the same to words of the command
line. The tests do so for a moment; ``scripts/soak`` runs them as one of its stress tests.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import random
import re
import shutil
import struct
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import GraphDef, TensorShape, cli, float64
from actorsession.actors import Children
from actorsession.cluster import KubernetesClusterResolver
from actorsession.cluster.node_lists import expand_counts, expand_node_list
from actorsession.cluster.server.snapshots import Saved, Snapshot, SnapshotStore, stored_cluster_id
from actorsession.compat.libraries import json_format, text_format
from actorsession.compat.v1.debug.sessions import DumpingDebugWrapperSession
from actorsession.compat.v1.internals import mnist_data
from actorsession.errors import PicklableError, ProtocolError
from actorsession.extend import Partition, TensorSpec
from actorsession.messages import VOCABULARY, decode
from actorsession.messages.step_frames import is_step_frame
from actorsession.observe.debug import DebugDumpDir
from actorsession.rpc.security import check_files, shared_token
from actorsession.rpc.served_runs import ServedRun
from actorsession.rpc.step_calls import StepCalls
from actorsession.session.targets import master_addresses
from tests.cli.kit import called
from tests.cluster.fakes import StepLine
from tests.cluster.kubernetes_api import pod
from tests.fuzz.mutations import wire
from tests.fuzz.recording import record
from tests.loops import run_to_end as run
from transports import Frame, FrameDecoder, TransportError

__all__ = ["READERS", "spoil_arguments", "spoil_files"]

LONG = 5.0
"""Seconds of processor time that reading some small files may take."""


class Reader(NamedTuple):
    """Writes valid files into a folder, and reads what is there.

    Attributes:
        write: writes.
        read: reads.
        documented: errors of Python that it raises for its argument, besides classes of ours.
    """

    write: Callable[[Path], object]
    read: Callable[[Path], object]
    documented: tuple[type[Exception], ...] = ()


def content(text: str | bytes) -> Callable[[Path], object]:
    """Write a file ``x`` with a content."""
    data = text.encode() if isinstance(text, str) else text
    return lambda folder: (folder / "x").write_bytes(data)


def words(folder: Path) -> str:
    """The text of ``x``, whatever bytes it has, as a program gets it from its environment."""
    return os.fsdecode((folder / "x").read_bytes()).replace("\0", "")


def a_model() -> tuple[acts.Graph, Any]:
    """A graph with a branch, a loop, constants and a variable."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.Variable(np.ones((2, 2), np.float32), name="v")
        tf.cond(tf.reduce_sum(tf.matmul(x, v)) > 0, lambda: x + 1.0, lambda: x - 1.0)
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        tf.constant(["a", "b"])
    return graph, v


def a_graph_def() -> Any:
    return a_model()[0].as_graph_def()


def import_graph(parse: Callable[[bytes], Any], folder: Path) -> None:
    message = parse((folder / "x").read_bytes())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")


def parsed(kind: Any, data: bytes) -> Any:
    """A message from its bytes, which is shown in all ways."""
    message = kind()
    message.ParseFromString(data)
    str(message), message.SerializeToString(), json_format.MessageToJson(message)
    return message


def of_message(message: Any) -> Reader:
    """A message, by its bytes."""
    kind = type(message)
    return Reader(content(message.SerializeToString()), lambda d: parsed(kind, (d / "x").read_bytes()))


def save(make_saver: Callable[[Any], Any], folder: Path) -> None:
    graph, v = a_model()
    with graph.as_default(), tf.Session() as session:
        session.run(v.initializer)
        make_saver(v).save(session, str(folder / "m"))


def restore(make_saver: Callable[[Any], Any], folder: Path, *, meta: bool = False) -> None:
    prefix = str(folder / "m")
    tf.train.latest_checkpoint(str(folder))
    if tf.train.checkpoint_exists(prefix):
        for name, _ in tf.train.list_variables(prefix):
            tf.train.load_variable(prefix, name)
        graph, v = a_model()
        with graph.as_default(), tf.Session() as session:
            make_saver(v).restore(session, prefix)
    if meta and (folder / "m.meta").exists():
        with tf.Graph().as_default():
            tf.train.import_meta_graph(f"{prefix}.meta")


def of_checkpoint(make_saver: Callable[[Any], Any], *, meta: bool = False) -> Reader:
    return Reader(partial(save, make_saver), partial(restore, make_saver, meta=meta))


def save_model(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, v = tf.placeholder(tf.float32, [None], name="x"), tf.Variable(2.0)
        session.run(v.initializer)
        tf.saved_model.simple_save(session, str(folder / "model"), {"x": x}, {"y": x * v})


def write_model_and_input(folder: Path) -> None:
    save_model(folder)
    np.save(folder / "x.npy", np.arange(2.0, dtype=np.float32))


def load_model(folder: Path) -> None:
    with tf.Session(graph=tf.Graph()) as session:
        tf.saved_model.load(session, ["serve"], str(folder / "model"))


EXAMPLE = tf.train.Example(
    features=tf.train.Features(
        feature={
            "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[3])),
            "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x"])),
        }
    )
).SerializeToString()


def write_records(kind: str, folder: Path) -> None:
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind or "NONE"))
    with tf.python_io.TFRecordWriter(str(folder / "x"), options=options) as writer:
        for _ in range(3):
            writer.write(EXAMPLE)


def read_records(kind: str, folder: Path) -> None:
    path = str(folder / "x")
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind or "NONE"))
    for each in tf.python_io.tf_record_iterator(path, options=options):
        parsed(tf.train.Example, each)
    features = {"a": tf.FixedLenFeature([], tf.int64)}
    with tf.Graph().as_default(), tf.Session() as session:
        records = tf.data.TFRecordDataset(path, compression_type=kind).batch(9)
        session.run(tf.parse_example(session.run(tf.data.make_one_shot_iterator(records).get_next()), features))


def write_events(folder: Path) -> None:
    writer = tf.summary.FileWriter(str(folder), graph=tf.Graph())
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.0)]), 1)
    writer.close()


def read_events(folder: Path) -> None:
    for path in folder.iterdir():
        for event in tf.train.summary_iterator(str(path)):
            str(event)


def dump(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        wrapped: Any = DumpingDebugWrapperSession(session, str(folder / "dump"))
        wrapped.run(tf.constant(2.0) * 3.0)


def read_dump(folder: Path) -> None:
    for path in (folder / "dump").iterdir():
        for datum in DebugDumpDir(str(path)).dumped_tensor_data:
            datum.get_tensor()


def write_mnist(folder: Path) -> None:
    sizes = struct.pack(">IIII", 2051, 2, 28, 28)
    (folder / "images").write_bytes(gzip.compress(sizes + bytes(2 * 28 * 28)))
    (folder / "labels").write_bytes(gzip.compress(struct.pack(">II", 2049, 2) + b"\1\2"))


def read_mnist(folder: Path) -> None:
    with (
        contextlib.suppress(FileNotFoundError),  # which is this function's
        open(folder / "images", "rb") as images,
        open(folder / "labels", "rb") as labels,
    ):
        mnist_data.extract_images(images)
        mnist_data.extract_labels(labels)


def save_vocabulary(folder: Path) -> None:
    processor = tf.contrib.learn.preprocessing.VocabularyProcessor(4)
    list(processor.fit_transform(["a b c", "b d"]))
    processor.save(str(folder / "x"))


def write_digits(folder: Path) -> None:
    np.savez_compressed(
        folder / "digits.npz", images=np.zeros((20, 64), np.uint8), labels=np.arange(20, dtype=np.uint8) % 10
    )


def of_kernel(build: Callable[[Any], Any], data: bytes | Callable[[], Any]) -> Reader:
    """Bytes that a kernel decodes, or the tensor that makes them."""

    def read(folder: Path) -> None:
        with tf.Graph().as_default(), tf.Session() as session:
            given = tf.placeholder(tf.string, [])
            session.run(build(given), {given: (folder / "x").read_bytes()})

    def write(folder: Path) -> None:
        if isinstance(data, bytes):
            content(data)(folder)
            return
        with tf.Graph().as_default(), tf.Session() as session:
            content(session.run(data()))(folder)

    return Reader(write, read)


TENSOR = tf.make_tensor_proto([1.0]).SerializeToString()
SOUND = np.zeros((5, 1), np.float32)
PIXELS = np.full((5, 4, 3), 7, np.uint8)
BITMAP = (
    b"BM"
    + struct.pack("<IHHI", 102, 0, 0, 54)
    + struct.pack("<IiiHHIIiiII", 40, 3, 4, 1, 24, 0, 0, 0, 0, 0, 0)
    + bytes(48)
)
PARSED = {"a": tf.VarLenFeature(tf.int64), "b": tf.FixedLenFeature([], tf.string)}
CLUSTER = json.dumps(
    {"cluster": {"ps": ["h:1"], "worker": {"0": "a:1", "3": "b:2"}}, "task": {"type": "worker", "index": 0}}
)


def resolve(resolver: Any) -> None:
    resolver.cluster_spec(), resolver.task_type, resolver.task_id, resolver.master()


def in_environment(name: str, read: Callable[[], object], folder: Path) -> None:
    """Read a variable of the environment that has the words of the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, words(folder))
        read()


def read_certificates(folder: Path) -> None:
    files = {"ca_file": "ca.pem", "certificate_file": "cert.pem", "key_file": "key.pem"}
    check_files(acts.SecurityConfig(**{field: str(folder / name) for field, name in files.items()}))


def write_token(folder: Path) -> None:
    """Write a token that only its owner can read."""
    content("a" * 40)(folder)
    (folder / "x").chmod(0o600)


def read_token(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ACTORSESSION_TOKEN", raising=False)
        patch.setenv("ACTORSESSION_TOKEN_FILE", str(folder / "x"))
        shared_token()


def call(*line: str | Callable[[Path], str]) -> Callable[[Path], None]:
    """Call a command, which must end with a status, in one line if it fails, and in no traceback."""

    def run(folder: Path) -> None:
        given = [word if isinstance(word, str) else word(folder) for word in line]
        code, out, err = called(*given)
        fault = code not in (0, 1, 2) or "Traceback" in err or (code == 2 and err.count("\n") != 1)
        if fault or not all(shown.isprintable() for shown in (out + err).split("\n")):
            raise AssertionError(f"{given!r:.200} ends with {code} and says {err!r:.500}")

    return run


def store(folder: Path) -> SnapshotStore:
    """Where a task keeps its variables."""
    return SnapshotStore(folder, "/job:ps/replica:0/task:0", "green")


def write_snapshot(folder: Path) -> None:
    spec = TensorSpec(float64, TensorShape([3]))
    saved = [Saved("CPU:0", "", name, spec, np.arange(3.0)) for name in ("a", "b")]
    store(folder).write(Snapshot(7, 1, True, saved))


def read_snapshot(folder: Path) -> None:
    store(folder).latest()
    stored_cluster_id(folder)


@functools.cache
def recorded() -> list[Frame]:
    """Frames of every kind, one each."""
    frames = [frame for talk in run(record()).conversations for frame in talk.frames]
    return list({bytes(frame.header)[:24]: frame for frame in frames}.values())


def write_frames(folder: Path) -> None:
    """Write a file for each frame, with its header."""
    for number, frame in enumerate(recorded()):
        (folder / str(number)).write_bytes(bytes(frame.header))


def read_frames(folder: Path) -> None:
    """Read frames as a link does, each without regard for the others, and the graphs in them."""
    for number, frame in enumerate(recorded()):
        # The package of transports knows no class of ours; and no frame fits a link that began with it.
        with contextlib.suppress(FileNotFoundError, TransportError, ProtocolError):
            header = (folder / str(number)).read_bytes()
            (read,) = FrameDecoder().feed(wire(Frame(header, frame.segments)))
            if is_step_frame(read.header):
                step_calls().receive(read.header, read.segments)
                continue
            message: Any = getattr(decode(read.header, read.segments), "message", None)
            if hasattr(message, "graph"):
                GraphDef.from_wire(message.graph)
            for partition in getattr(message, "partitions", ()):
                Partition.from_wire(partition)


def step_calls() -> StepCalls:
    """The step frames of a link whose answers are dropped; the runs of its plans return their feeds."""
    line = StepLine(lambda header, segments: None)
    calls = StepCalls("peer", line, line, Children("fuzz"))
    calls.served.on_plan = _Echo
    calls.pushes.on_push = lambda step_id, keys, values, dead, times: None
    calls.pushes.on_lost = lambda step_id, error: None
    return calls


class _Echo:
    """A plan, and each partial run of it."""

    def __init__(self, plan: list[Any]) -> None:
        self.plan = VOCABULARY.from_wire(plan)

    def begin(self, run: ServedRun) -> None:
        run.values.read_all()
        run.open(self)
        run.done(run.values)

    def abandon(self) -> None:
        pass


def read_pods(folder: Path) -> None:
    """Take an answer of Kubernetes' API for the pods of a job."""
    body = (folder / "x").read_bytes()

    class Answered(KubernetesClusterResolver):
        def _ask(self, path: str) -> tuple[str, int, str, bytes]:
            return "Kubernetes", 200, "OK", body

    resolve(Answered({"worker": "app=x"}, namespace="n", pod="worker-0"))


PODS = json.dumps(
    {
        "kind": "PodList",
        "metadata": {"resourceVersion": "1"},
        "items": [
            pod("worker-0", "10.0.0.1"),
            pod("worker-1", "fd00::1", owner="Job"),
            pod("x", "10.0.0.3", labels={"apps.kubernetes.io/pod-index": "2"}),
        ],
    }
).replace('"Job"', '"StatefulSet"')


def file(folder: Path) -> str:
    return str(folder / "x")


READERS: dict[str, Reader] = {
    "checkpoint": of_checkpoint(lambda v: acts.train.Saver([v])),
    "sharded checkpoint": of_checkpoint(lambda v: acts.train.Saver([v], sharded=True)),
    "checkpoint of TensorFlow": of_checkpoint(lambda v: tf.train.Saver([v]), meta=True),
    "first format": of_checkpoint(lambda v: tf.train.Saver([v], write_version=tf.train.SaverDef.V1), meta=True),
    "saved model": Reader(save_model, load_model),
    "graph": Reader(
        lambda d: content(a_graph_def().SerializeToString())(d), partial(import_graph, partial(parsed, tf.GraphDef))
    ),
    "graph as text": Reader(
        lambda d: content(text_format.MessageToString(a_graph_def()))(d),
        partial(import_graph, lambda data: text_format.Parse(data, tf.GraphDef())),
    ),
    "graph as JSON": Reader(
        lambda d: content(json_format.MessageToJson(a_graph_def()))(d),
        partial(import_graph, lambda data: json_format.Parse(data, tf.GraphDef())),
    ),
    "records": Reader(partial(write_records, ""), partial(read_records, "")),
    "zipped records": Reader(partial(write_records, "GZIP"), partial(read_records, "GZIP")),
    "events": Reader(write_events, read_events),
    "dumped run": Reader(dump, read_dump),
    "MNIST": Reader(write_mnist, read_mnist),
    "vocabulary": Reader(
        save_vocabulary, lambda d: tf.contrib.learn.preprocessing.VocabularyProcessor.restore(file(d))
    ),
    "config": of_message(tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)),
    "run options": of_message(tf.RunOptions(timeout_in_ms=5, trace_level=1)),
    "event": of_message(tf.Event(step=3, wall_time=2.0)),
    "server": of_message(tf.train.ServerDef(job_name="a", task_index=1)),
    "TF_CONFIG": Reader(
        content(CLUSTER), partial(in_environment, "TF_CONFIG", lambda: resolve(acts.TFConfigClusterResolver()))
    ),
    "run config": Reader(
        content(CLUSTER.replace("ps", "chief")), partial(in_environment, "TF_CONFIG", tf.estimator.RunConfig)
    ),
    "resolver of contrib": Reader(
        content(CLUSTER),
        partial(
            in_environment, "TF_CONFIG", lambda: tf.contrib.cluster_resolver.TFConfigClusterResolver().cluster_spec()
        ),
    ),
    "file of a cluster": Reader(content(CLUSTER), lambda d: resolve(acts.FileClusterResolver(d / "x"))),
    "list of nodes": Reader(content("n[001-003,7],m-[1-2]-x"), lambda d: expand_node_list(words(d))),
    "list of counts": Reader(content("2(x3),1"), lambda d: expand_counts(words(d))),
    "target": Reader(content("tcp://h:1,unix:///a,b/c"), lambda d: master_addresses(words(d))),
    "device": Reader(
        content("/job:w/replica:0/task:1/device:CPU:0"), lambda d: acts.DeviceSpec.from_string(words(d)), (ValueError,)
    ),
    "settings": Reader(
        content('{"a": 3, "b": [1.0]}'),
        lambda d: tf.contrib.training.HParams(a=1, b=[2.0]).parse_json(words(d)),
        (KeyError, TypeError, ValueError),
    ),
    "settings in words": Reader(
        content("a=3,b=[1.0,2]"),
        lambda d: tf.contrib.training.HParams(a=1, b=[2.0]).parse(words(d)),
        (KeyError, TypeError, ValueError),
    ),
    "certificates": Reader(lambda d: called("certs", "--out", str(d)), read_certificates),
    "token": Reader(write_token, read_token),
    "snapshots": Reader(write_snapshot, read_snapshot),
    "frames": Reader(write_frames, read_frames),
    "answer of Kubernetes": Reader(content(PODS), read_pods),
    "PNG": of_kernel(tf.image.decode_image, lambda: tf.image.encode_png(PIXELS)),
    "JPEG": of_kernel(tf.image.decode_jpeg, lambda: tf.image.encode_jpeg(PIXELS)),
    "bitmap": of_kernel(tf.image.decode_bmp, BITMAP),
    "wave": of_kernel(tf.audio.decode_wav, lambda: tf.audio.encode_wav(SOUND, 8000)),
    "example": of_kernel(lambda p: tf.parse_single_example(p, PARSED), EXAMPLE),
    "examples": of_kernel(lambda p: tf.parse_example([p, p], PARSED), EXAMPLE),
    "example as JSON": of_kernel(
        tf.decode_json_example, b'{"features":{"feature":{"a":{"int64List":{"value":["1"]}}}}}'
    ),
    "tensor": of_kernel(lambda p: tf.parse_tensor(p, tf.float32), TENSOR),
    "CSV": of_kernel(lambda p: tf.decode_csv(p, [[1], ["a"], [1.0]]), b'12,"a,b",3.5'),
    "raw numbers": of_kernel(lambda p: tf.decode_raw(p, tf.int32), b"12345678"),
    "number": of_kernel(tf.string_to_number, b"1.5"),
    "base 64": of_kernel(tf.decode_base64, b"aGVsbG8"),
    "zipped bytes": of_kernel(lambda p: tf.io.decode_compressed(p, compression_type="GZIP"), gzip.compress(b"hello")),
    "worker --config": Reader(content(CLUSTER), call("worker", "--job", "none", "--config", file)),
    "worker --cluster": Reader(content('{"ps": ["h:1"]}'), call("worker", "--job", "none", "--cluster", words)),
    "cluster --jobs": Reader(content("ps=0,worker=x"), call("cluster", "--restart=x", "--jobs", words)),
    "check-tf1": Reader(content("import tensorflow as tf\ntf.constant(3)\n"), call("check-tf1", file)),
    "inspect a graph": Reader(
        lambda d: content(a_graph_def().SerializeToString())(d), call("inspect", "--value=Const", file)
    ),
    "inspect a graph as text": Reader(
        lambda d: content(text_format.MessageToString(a_graph_def()))(d), call("inspect", "--json", file)
    ),
    "inspect a checkpoint": Reader(
        partial(save, lambda v: acts.train.Saver([v])), call("inspect", "--value=v", lambda d: f"{d}/m")
    ),
    "inspect a checkpoint of TensorFlow": Reader(
        partial(save, lambda v: tf.train.Saver([v])), call("inspect", "--value=v", str)
    ),
    "inspect a saved model": Reader(save_model, call("inspect", lambda d: f"{d}/model")),
    "inspect records": Reader(partial(write_records, ""), call("inspect", file)),
    "inspect events": Reader(write_events, lambda d: call("inspect", *map(str, sorted(d.iterdir())))(d)),
    "run-model": Reader(save_model, call("run-model", "--input=x=[1, 2]", lambda d: f"{d}/model")),
    "input of run-model": Reader(
        write_model_and_input, call("run-model", lambda d: f"--input=x=@{d}/x.npy", lambda d: f"{d}/model")
    ),
    "demo --data": Reader(
        write_digits, call("demo", "--steps=0", "--output=/dev/null", "--data", lambda d: f"{d}/digits.npz")
    ),
}


NUMBERS = [b"9" * 30, b"9" * 5000, b"-1", b"0", b"1.5", b"1e999", b"NaN", b"4294967296", b"null", b'"x"', b"[]"]
TEXTS = [b"5", b"null", b"[]", b"{}", b"true", b'""', b'"\\ud800"', b'"\\u0000"', b'"' + b"x" * 5000 + b'"']


def spoil(rng: random.Random, data: bytes) -> bytes:
    """Change something in the content of a file."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.randrange(1, 20))
    front, middle, back = data[:at], data[at:end], data[end:]

    def replaced(pattern: bytes, by: list[bytes]) -> bytes:
        places = [match.span() for match in re.finditer(pattern, data)]
        begin, stop = rng.choice(places or [(at, end)])
        return data[:begin] + rng.choice(by) + data[stop:]

    ways: list[Callable[[], bytes]] = [
        lambda: front + bytes(byte ^ 1 << rng.randrange(8) for byte in middle[:1]) + middle[1:] + back,
        lambda: front + bytes([rng.choice(b'\x00\xff\x7f\x80\n"-9[{')]) + middle[1:] + back,
        lambda: front,
        lambda: front + back,
        lambda: front + rng.randbytes(len(middle)) + middle + back,
        lambda: front + middle + middle + back,
        lambda: front + bytes(len(middle)) + back,
        lambda: front + b"\xff" * len(middle) + back,
        lambda: front + rng.randbytes(len(middle)) + back,
        lambda: rng.randbytes(rng.randrange(200)),
        lambda: b"[" * rng.choice([10, 5000, 100_000]),
        lambda: replaced(rb"-?\d+(\.\d+)?", NUMBERS),
        lambda: replaced(rb'"[^"]*"', TEXTS),
        lambda: data + data,
    ]
    return rng.choice(ways)()


def is_ours(error: BaseException, documented: tuple[type[Exception], ...] = ()) -> bool:
    """Whether an error is of a class of ours, or a documented one of Python in words of ours."""
    if type(error) not in documented:
        return isinstance(error, PicklableError)
    raised_at = traceback.extract_tb(error.__traceback__)[-1].filename
    return "/actorsession/" in raised_at and " " in str(error) and "4300" not in str(error)


def spoil_files(name: str, folder: Path, seed: int, times: int, until: float = float("inf")) -> list[str]:
    """Read spoilt files of a reader again and again.

    Args:
        name: the row of ``READERS``.
        folder: an empty folder.
        seed: chooses what is spoilt.
        times: how often.
        until: when to stop, by the monotonic clock.

    Returns:
        What was wrong, in words.
    """
    reader, rng, wrong = READERS[name], random.Random(f"{seed} {name}"), []
    good, bad = folder / "good", folder / "bad"
    good.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader.write(good)
        reader.read(good)
        files = sorted(path.relative_to(good) for path in good.rglob("*") if path.is_file())
        for number in range(times):
            if time.monotonic() > until:
                break
            this = f"{name}, seed {seed}, file {number}"
            shutil.copytree(good, bad)
            path = bad / rng.choice(files)
            for _ in range(rng.choice([1, 1, 1, 3])):
                path.write_bytes(spoil(rng, path.read_bytes()))
            if len(files) > 1 and rng.random() < 0.1:
                path.unlink()
            began = time.process_time()
            try:
                reader.read(bad)
            except Exception as error:
                if not is_ours(error, reader.documented):
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    wrong.append(f"{this}: {error!r:.200} at {where.filename}:{where.lineno}")
            took = time.process_time() - began
            if took > LONG:
                wrong.append(f"{this}: {path.name} was read for {took:.1f} s")
            shutil.rmtree(bad)
    return wrong


ODD = (
    "", " ", "x", "-1", "0", "nan", "inf", "1e300", "9" * 5000, "[", "{}", "null", "\ud800", "a=b,c", "/",
    "a,,b", "\u0661", "1_0", " 1", "0x10", "\x1b[2J\n", "..", "~", "%s", "-", "--", "@x", "é" * 300,
    "tcp://h:99999", "unix://", "a:b:c", "/dev/null/x",
)  # fmt: skip


def spoil_arguments(seed: int) -> list[str]:
    """Call each command with each of its options and an odd value, and return what was wrong, in words."""
    rng, wrong = random.Random(seed), []
    _, commands = cli._parser(with_demo=True)
    for name, parser in commands.items():
        for option in parser._option_string_actions:
            # The last word is refused by all, so that no command does what it was told.
            line = [name, f"{option}={rng.choice(ODD)}", *rng.sample(ODD, rng.randrange(2)), "--no-such-option"]
            code, out, err = called(*line)
            shown = (out + err).split("\n")
            helps = code == 0 and out.startswith("usage: ")
            refuses = code in (1, 2) and len(shown) == 2 and err.startswith("actorsession")
            if not (helps or refuses) or not all(text.isprintable() for text in shown):
                wrong.append(f"{line!a:.300} ends with {code!r} and says {out[:200]!a} {err[-300:]!a}")
    return wrong
