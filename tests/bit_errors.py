"""Flipped bits: whatever is written to files is read again with one bit of one file changed.

Each format writes some files, and reads them as values. With any bit changed, reading must raise an error of
ours or find nothing, or find what is before the damage where a file is read as a stream; never a value. The
tests flip some bits, a soak others, and ``python -m tests.bit_errors [FORMAT ...]`` every one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import checkpoints
from actorsession.errors import DataLossError, OpError

__all__ = ["FORMATS", "Format", "Report", "flipped"]


@dataclass(frozen=True, slots=True)
class Format:
    """Files of one kind.

    Attributes:
        write: writes them to an empty folder.
        read: returns what they hold, or ``None`` if they hold nothing; for streams a list.
        files: pattern of the files whose bits are flipped.
        stream: whether what precedes the damage may be read.
        flips: how many bits are flipped in the short form.
    """

    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    files: str = "*"
    stream: bool = False
    flips: int = 300


@dataclass(slots=True)
class Report:
    """What was seen.

    Attributes:
        flips: how many bits were flipped, one after the other.
        faults: what was read in spite of it, or raised and is no error of ours.
    """

    flips: int = 0
    faults: list[str] = field(default_factory=list)


def flipped(name: str, *, every: bool = False, first: int = 0) -> Report:
    """Reads the files of a format with each of their bits flipped, or with some.

    Args:
        name: a key of ``FORMATS``.
        every: whether it is each bit; else as many as the format says, evenly spread.
        first: of these, which one comes first.
    """
    form, report = FORMATS[name], Report()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        form.write(folder)
        whole = form.read(folder)
        assert whole is not None, name
        bits = [(path, bit) for path in _files(folder, form.files) for bit in _bits(path)]
        step = 1 if every else max(1, len(bits) // form.flips) | 1  # odd, for each place in a byte
        for path, bit in bits[first % step :: step]:
            with _changed(path, bit):
                report.flips += 1
                wrong = _read(form, folder, whole)
            if wrong:
                report.faults.append(f"bit {bit % 8} of byte {bit // 8} of {path.name}: {wrong}")
    return report


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def _bits(path: Path) -> range:
    return range(8 * path.stat().st_size)


@contextlib.contextmanager
def _changed(path: Path, bit: int) -> Iterator[None]:
    """Flips a bit in place for the length of the block; the time of the file stays."""
    times = path.stat()
    try:
        _flip(path, bit)
        yield
    finally:
        _flip(path, bit)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        (byte,) = file.read(1)
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def _read(form: Format, folder: Path, whole: Any) -> str | None:
    """What is wrong with what is read."""
    try:
        found = form.read(folder)
    except (OpError, OSError):
        return None
    except BaseException as exc:
        return f"raised {type(exc).__name__}: {exc}"
    if found is None:
        return None
    if form.stream:
        before = found == whole[: len(found)] and len(found) < len(whole)
        return None if before else f"{found!r:.200} was read as the beginning"
    return f"{'the same' if found == whole else repr(found)[:200]} was read"


# -- formats ---------------------------------------------------------------------------------------

_VALUES: dict[str, Any] = {
    "floats": np.array([[1.0, 2.0], [3.0, 4.0]], np.float32),
    "ints": np.arange(3),
    "complex": np.array(1 + 2j),
    "half": np.array([1.5], np.float16),
    "empty": np.zeros((0, 3)),
    "words": np.array([b"one", b"", b"three"], object),
    "flags": np.array([True, False]),
}
_PARTS = [("3 2 0,2:-", np.ones((2, 2))), ("3 2 2,1:-", np.zeros((1, 2)))]
_NAMES = [*_VALUES, "parts", "parts"]
_SPECS = [""] * len(_VALUES) + [spec for spec, _ in _PARTS]
_TENSORS = [*_VALUES.values(), *(part for _, part in _PARTS)]


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    return array.dtype.name, array.shape, array.tolist()


def _checkpoint(folder: Path) -> Any:
    with checkpoints.CheckpointReader(str(folder / "m")) as reader:
        names = sorted(reader.get_variable_to_shape_map())
        return [(name, _plain(reader.get_tensor(name))) for name in names]


def _save(folder: Path) -> None:
    checkpoints.save(str(folder / "m"), _NAMES, _SPECS, _TENSORS)


def _save_bundle(folder: Path) -> None:
    checkpoints.save_bundle(str(folder / "m"), _NAMES, _SPECS, _TENSORS)


def _save_oldest(folder: Path) -> None:
    checkpoints.save_slices(str(folder / "m"), _NAMES, _SPECS, _TENSORS)


def _sharded(save: Callable[..., None], merge: Callable[..., None]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        with checkpoints.saving(str(folder / "m")) as basename:
            shards = [checkpoints.sharded_name(basename, number, 2) for number in range(2)]
            for number, shard in enumerate(shards):
                save(shard, _NAMES[number::2], _SPECS[number::2], _TENSORS[number::2])
            merge(shards, str(folder / "m"))

    return write


def _snapshot(folder: Path) -> None:
    from actorsession import TensorShape, float64
    from actorsession.cluster.server.snapshots import Saved, Snapshot
    from actorsession.extend import TensorSpec

    spec = TensorSpec(float64, TensorShape([3]))
    saved = [Saved("CPU:0", "", name, spec, np.arange(3.0)) for name in ("a", "b")]
    _store(folder).write(Snapshot(7, 1, True, saved))


def _store(folder: Path) -> Any:
    from actorsession.cluster.server.snapshots import SnapshotStore

    return SnapshotStore(folder, "/job:ps/replica:0/task:0")


def _read_snapshot(folder: Path) -> Any:
    found = _store(folder).latest()
    return found and (found.steps, [(v.name, _plain(v.value)) for v in found.variables])


def _records(folder: Path) -> None:
    import actorsession.compat.v1 as tf

    with tf.io.TFRecordWriter(str(folder / "r")) as writer:
        for number in range(9):
            writer.write(b"%d" % number * number)


def _read_records(folder: Path) -> list[bytes]:
    import actorsession.compat.v1 as tf

    found: list[bytes] = []
    with contextlib.suppress(DataLossError):
        found.extend(tf.io.tf_record_iterator(str(folder / "r")))
    return found


def _events(folder: Path) -> None:
    from actorsession.compat.v1 import Event
    from actorsession.opsets.summaries.event_files import EventFileWriter

    writer = EventFileWriter(folder)
    for step in range(5):
        writer.write(Event(step=step, wall_time=float(step)).SerializeToString())
    writer.close()


def _read_events(folder: Path) -> list[str]:
    import actorsession.compat.v1 as tf

    found: list[str] = []
    with contextlib.suppress(DataLossError):
        for path in folder.iterdir():
            found.extend(str(event) for event in tf.train.summary_iterator(str(path)))
    return found


def _graph() -> Any:
    import actorsession.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.add(x, 2.0, name="y")
    return graph


def _write_graph(folder: Path) -> None:
    from actorsession.train.graph_file import write_graph

    write_graph(str(folder / "g"), _graph())


def _read_graph(folder: Path) -> Any:
    from actorsession import GraphDef

    return GraphDef.from_bytes((folder / "g").read_bytes()).to_wire()


def _written_graph(*, as_text: bool) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        tf.train.write_graph(_graph(), str(folder), "g", as_text=as_text)

    return write


def _parsed_graph(folder: Path) -> str:
    import actorsession.compat.v1 as tf

    made = tf.GraphDef()
    made.ParseFromString((folder / "g").read_bytes())
    return str(made)


def _parsed_graph_text(folder: Path) -> str:
    import actorsession.compat.v1 as tf
    from actorsession.interop import text_format

    return str(text_format.Parse((folder / "g").read_bytes(), tf.GraphDef()))


def _meta_graph(*, as_text: bool) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        tf.train.export_meta_graph(str(folder / "g"), graph=_graph(), as_text=as_text)

    return write


def _read_meta_graph(folder: Path) -> str:
    from actorsession.interop import read_meta_graph

    return str(read_meta_graph(folder / "g"))


def _model(*, as_text: bool) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=1.0)
            session.run(v.initializer)
            builder = tf.saved_model.Builder(str(folder / "model"))
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save(as_text)

    return write


def _read_model(folder: Path) -> Any:
    from actorsession.interop.saved_models import read_saved_model

    variables = folder / "model" / "variables" / "variables"
    with checkpoints.CheckpointReader(str(variables)) as reader:
        return str(read_saved_model(folder / "model")), _plain(reader.get_tensor("v"))


def _managed(folder: Path) -> None:
    import actorsession.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        checkpoint = tf.train.Checkpoint(v=v)
        manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=3)
        session.run([v.initializer, checkpoint.save_counter.initializer])
        for _ in range(3):
            manager.save()


def _update_state(folder: Path) -> None:
    from actorsession.train import update_checkpoint_state

    update_checkpoint_state(str(folder), "m-2", ["m-1", "m-2"])


def _state(folder: Path) -> Any:
    from actorsession.train import get_checkpoint_state

    found = get_checkpoint_state(str(folder))
    return None if found is None else found.to_text()


def _cached(folder: Path) -> None:
    _cached_elements(folder)


def _cached_elements(folder: Path) -> list[int]:
    import actorsession.compat.v1 as tf

    found: list[int] = []
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(9).cache(str(folder / "cache"))
        element = tf.data.make_one_shot_iterator(data).get_next()
        found.extend(int(session.run(element)) for _ in range(9))
        with contextlib.suppress(tf.errors.OutOfRangeError):
            session.run(element)
    return found


def _dump(folder: Path) -> None:
    import actorsession as acts
    from actorsession.config import DebugOptions, DebugTensorWatch

    with acts.Graph().as_default(), acts.Session() as session:
        v = acts.constant([1.0, 2.0], name="v")
        watch = DebugTensorWatch(node_name="*", debug_urls=(f"file://{folder}",))
        options = DebugOptions(debug_tensor_watch_opts=(watch,))
        session.run(v * 2.0, options=acts.RunOptions(debug_options=options))


def _read_dump(folder: Path) -> Any:
    from actorsession.observe.debug import DebugDumpDir

    found = DebugDumpDir(folder)
    return str(found.runs), [_plain(datum.get_tensor()) for datum in found.dumped_tensor_data]


def _vocabulary(folder: Path) -> None:
    _processors().VocabularyProcessor(4, vocabulary=_vocabulary_of("a", "b")).save(folder / "v")


def _vocabulary_of(*words: str) -> Any:
    made = _processors().CategoricalVocabulary()
    for word in words:
        made.add(word)
    return made


def _read_vocabulary(folder: Path) -> Any:
    found = _processors().VocabularyProcessor.restore(folder / "v")
    return vars(found) | {"vocabulary_": vars(found.vocabulary_)}


def _processors() -> Any:
    import actorsession.compat.v1 as tf

    return tf.contrib.learn.preprocessing


FORMATS: dict[str, Format] = {
    "one file": Format(_save, _checkpoint, flips=1500),
    "sharded": Format(_sharded(checkpoints.save, checkpoints.merge), _checkpoint, flips=900),
    "TensorFlow's format": Format(_save_bundle, _checkpoint),
    "TensorFlow's format, sharded": Format(_sharded(checkpoints.save_bundle, checkpoints.merge_bundles), _checkpoint),
    "TensorFlow's first format": Format(_save_oldest, _checkpoint),
    "snapshots": Format(_snapshot, _read_snapshot, "*.snapshot"),
    "records": Format(_records, _read_records, stream=True),
    "event files": Format(_events, _read_events, stream=True),
    "graphs": Format(_write_graph, _read_graph),
    "graphs for TensorFlow": Format(_written_graph(as_text=False), _parsed_graph),
    "graphs for TensorFlow as text": Format(_written_graph(as_text=True), _parsed_graph_text, flips=60),
    "meta graphs": Format(_meta_graph(as_text=False), _read_meta_graph),
    "meta graphs as text": Format(_meta_graph(as_text=True), _read_meta_graph, flips=60),
    "saved models": Format(_model(as_text=False), _read_model),
    "saved models as text": Format(_model(as_text=True), _read_model, "*.pbtxt", flips=60),
    "states of managers": Format(_managed, _state, "checkpoint"),
    "states of programs": Format(_update_state, _state, "checkpoint"),
    "dumps": Format(_dump, _read_dump),
    "vocabularies": Format(_vocabulary, _read_vocabulary),
    "caches of datasets": Format(_cached, _cached_elements, "cache*", flips=30),
}


def main(names: Sequence[str]) -> int:
    """Flips every bit of the files of some formats, or of all; the exit status."""
    failed = 0
    for name in names or FORMATS:
        report = flipped(name, every=True)
        failed |= bool(report.faults)
        sys.stdout.write(json.dumps([name, report.flips, report.faults[:20]]) + "\n")
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
