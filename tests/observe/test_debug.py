"""Reading back what debugged runs wrote to a directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import DType, Graph, RunOptions, Session, ops
from actorsession.checkpoints.seals import open_json, seal_json
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import DataLossError, InvalidArgumentError
from actorsession.observe.debug import DebugDumpDir, has_inf_or_nan
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.debug.sinks import sink_for
from actorsession.testing.strategies import dtypes, shapes

OPS = ("DebugIdentity", "DebugNumericSummary")


def options(directory: Path, node: str = "*", **more: Any) -> RunOptions:
    watch = DebugTensorWatch(node_name=node, output_slot=-1, debug_ops=OPS, debug_urls=[f"file://{directory}"])
    return RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watch], **more))


@pytest.fixture
def session() -> Iterator[Session]:
    graph = Graph()
    with graph.as_default():
        ops.log(ops.add(ops.placeholder("float32", [None], name="x"), 1.0, name="y"), name="z")
    with Session(graph=graph) as made:
        yield made


def test_runs_are_read_back_with_what_was_fed_and_fetched(session: Session, tmp_path: Path) -> None:
    for step, fed in enumerate(([0.0], [1.0, -1.0])):
        session.run("z:0", {"x:0": fed}, options(tmp_path, global_step=step))
    first, second = DebugDumpDir(tmp_path).runs
    assert (first.session_run_index, first.executor_step_index, first.global_step) == (0, 0, 0)
    assert (second.session_run_index, second.executor_step_index, second.global_step) == (1, 1, 1)
    assert first.input_names == ("x:0",)
    assert first.output_names == ("z:0",)
    assert first.target_names == ()
    assert first.complete
    assert not first.error
    (nodes,) = first.graphs.values()
    assert {"name": "y", "op": "AddV2"}.items() <= next(n for n in nodes if n["name"] == "y").items()
    assert second.graphs == {}


def test_what_was_not_watched_is_answered_with_what_was(session: Session, tmp_path: Path) -> None:
    session.run("z:0", {"x:0": [0.0]}, options(tmp_path, "y"))
    dumps = DebugDumpDir(tmp_path)
    with pytest.raises(ValueError, match=r"'z:0:DebugIdentity' was not watched; the directory has 2 watches, .*'y:0:"):
        dumps.get_tensors("z")
    with pytest.raises(ValueError, match=r"not watched in run 3, but in \[0\]"):
        dumps.get_tensors("y", session_run_index=3)


def test_values_are_read_back_by_watch(session: Session, tmp_path: Path) -> None:
    for fed in ([0.0], [1.0, -1.0]):
        session.run("z:0", {"x:0": fed}, options(tmp_path))
    dumps = DebugDumpDir(str(tmp_path))
    assert dumps.size == len(dumps.dumped_tensor_data) == 16
    assert dumps.nodes() == ["x", "y", "y/y", "z"]
    assert dumps.watch_keys("y") == ["y:0:DebugIdentity", "y:0:DebugNumericSummary"]
    assert [t.tolist() for t in dumps.get_tensors("y", 0)] == [[1.0], [2.0, 0.0]]
    assert [t.tolist() for t in dumps.get_tensors("y", session_run_index=1)] == [[2.0, 0.0]]
    assert dumps.get_tensors("z", 0, "DebugNumericSummary")[1][3] == 1
    datum = dumps.watch_key_to_data("z:0:DebugIdentity")[1]
    assert (datum.shape, datum.dtype, datum.op_type) == ((2,), "float32", "Log")
    assert dumps.watch_key_to_data("nobody:0:DebugIdentity") == []


def test_values_are_found_by_predicate(session: Session, tmp_path: Path) -> None:
    for fed in ([0.0], [1.0, -1.0], [-2.0]):
        session.run("z:0", {"x:0": fed}, options(tmp_path))
    dumps = DebugDumpDir(tmp_path)
    found = dumps.find(has_inf_or_nan)
    assert [(d.session_run_index, d.tensor_name) for d in found] == [(1, "z:0"), (2, "z:0")]
    assert len(dumps.find(has_inf_or_nan, first_n=1)) == 1
    assert dumps.find(has_inf_or_nan, exclude_node_names="z") == []
    assert dumps.find(has_inf_or_nan, device_name="elsewhere") == []
    assert len(dumps.find(lambda datum, tensor: tensor.size == 0)) == 0


def test_a_run_that_broke_is_there_with_its_error(session: Session, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        session.run("z:0", {"x:0": [-1.0]}, options(tmp_path, break_on="nan_or_inf"))
    (run,) = DebugDumpDir(tmp_path).runs
    assert "'z' (Log) made a NaN or Inf" in run.error
    assert run.data[-2].tensor_name == "z:0"


@given(data=st.data(), dtype=dtypes(strings=True), shape=shapes(max_size=3))
def test_every_type_comes_back_as_it_was(
    data: Any, dtype: DType, shape: tuple[int, ...], tmp_path_factory: Any
) -> None:
    if dtype.kind == "s":
        value = np.empty(shape, object)
        value[...] = b""
        for place in np.ndindex(shape):
            value[place] = data.draw(st.binary(max_size=4))
    else:
        blob = data.draw(st.binary(min_size=1000, max_size=1000))
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        raw = np.frombuffer(blob[:size], np.uint8)
        value = (raw % 2 if dtype.kind == "b" else raw).view(dtype.np_dtype).reshape(shape)
    directory = tmp_path_factory.mktemp("dumps")
    sink = sink_for(f"file://{directory}", DumpStore(), DebugOptions())
    sink.begin(
        {
            "session_run_index": 0,
            "executor_step_index": 0,
            "global_step": -1,
            "input_names": [],
            "output_names": [],
            "target_names": [],
        }
    )
    kept = acts.debugging.DebugDump(
        node_name="\u2028 odd/name",
        output_slot=0,
        device_name="d",
        debug_op="DebugIdentity",
        op_type="Add",
        value=value,
        timestamp=0.0,
        global_step=-1,
        session_run_index=0,
        executor_step_index=0,
    )
    assert sink.take(kept)
    (found,) = DebugDumpDir(directory).get_tensors("\u2028 odd/name")
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    if dtype.kind == "s":
        assert found.tolist() == value.tolist()
    else:
        assert found.tobytes() == value.tobytes()


@pytest.fixture
def written(session: Session, tmp_path: Path) -> Path:
    session.run("z:0", {"x:0": [0.0]}, options(tmp_path, "y"))
    (path,) = tmp_path.glob("run_*")
    return path


def unended(run: Path) -> None:
    """Make the manifest that of a run whose process died."""
    path = run / "manifest.json"
    manifest = open_json(path.read_bytes(), "it")
    for key in ("end", "values", "error", "left_out", "kept"):
        manifest.pop(key, None)
    path.write_bytes(seal_json(manifest))


def change_line(run: Path, **changes: Any) -> None:
    """Leave one value, with something else in its line, as somebody can write it."""
    unended(run)
    path = run / "tensors.jsonl"
    path.write_bytes(seal_json({**open_json(path.read_bytes().splitlines()[0], "it"), **changes}) + b"\n")


def test_a_process_that_died_leaves_what_it_had_written(written: Path) -> None:
    unended(written)
    with (written / "tensors.jsonl").open("a") as lines:
        lines.write('{"file": "000')
    (run,) = DebugDumpDir(written.parent).runs
    assert not run.complete
    assert len(run.data) == 2


@pytest.mark.parametrize("name", ["../secret.npy", "/etc/passwd", "x.npy", ""])
def test_no_file_outside_the_directory_is_opened(written: Path, name: str) -> None:
    change_line(written, file=name)
    with pytest.raises(DataLossError, match="is not the name of a file with a value"):
        DebugDumpDir(written.parent)


def test_nothing_is_unpickled(written: Path) -> None:
    change_line(written, file_crc32=None)
    np.save(written / "00000000.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DataLossError, match=r"does not contain the float32 of shape \[1\]"):
        DebugDumpDir(written.parent).get_tensors("y")


def test_a_run_of_an_earlier_version_is_read_without_checksums(written: Path) -> None:
    for path in (written / "manifest.json", written / "tensors.jsonl"):
        plain = [open_json(line, "it") for line in path.read_bytes().splitlines()]
        for each in plain:
            each.pop("file_crc32", None)
        path.write_text("".join(json.dumps(each) + "\n" for each in plain).replace('"form": 2', '"form": 1'))
    assert len(DebugDumpDir(written.parent).get_tensors("y")) == 1


def test_a_file_that_is_cut_off_or_of_another_type_is_told(written: Path) -> None:
    change_line(written, file_crc32=None)
    path = written / "00000000.npy"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(DataLossError, match="does not contain"):
        DebugDumpDir(written.parent).get_tensors("y")
    np.save(path, np.zeros(3, np.int32))
    with pytest.raises(DataLossError, match="found int32 of shape"):
        DebugDumpDir(written.parent).get_tensors("y")


def test_a_run_that_lacks_values_or_has_other_ones_is_told(written: Path) -> None:
    value, lines = written / "00000000.npy", written / "tensors.jsonl"
    np.save(value, np.load(value) + 1)
    with pytest.raises(DataLossError, match="does not have its checksum"):
        DebugDumpDir(written.parent).get_tensors("y")
    lines.write_bytes(lines.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(DataLossError, match="it has 1 values, and said that it has 2"):
        DebugDumpDir(written.parent)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"form": 2}'])
def test_a_manifest_that_is_none_is_told(written: Path, text: str) -> None:
    (written / "manifest.json").write_text(text)
    with pytest.raises(DataLossError, match="is not a run of the debugger"):
        DebugDumpDir(written.parent)


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        DebugDumpDir(tmp_path / "none")
    assert DebugDumpDir(tmp_path).runs == ()
