"""Looking into checkpoints without a session, variables that start from one, and the ``checkpoint`` file."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, ops, train
from actorsession.checkpoints import save
from actorsession.errors import InvalidArgumentError, NotFoundError, OpError
from actorsession.train import CheckpointState
from tests.train.kit import parts_of

FIXTURES = Path(__file__).parents[1] / "checkpoints" / "fixtures"
WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """A checkpoint with ``old/w``, ``old/b`` and ``step``."""
    made = str(tmp_path / "m-1")
    save(made, ["old/w", "old/b", "step"], [""] * 3, [WEIGHTS, np.array([5], np.float32), np.int64(9)])
    train.update_checkpoint_state(str(tmp_path), made)
    return made


def initial(*variables: Any) -> list[Any]:
    with Session() as session:
        session.run(ops.global_variables_initializer())
        return list(session.run(list(variables)))


def test_a_checkpoint_is_listed_by_prefix_or_folder(prefix: str, tmp_path: Path) -> None:
    wanted = [("old/b", [1]), ("old/w", [4, 2]), ("step", [])]
    assert train.list_variables(prefix) == wanted
    assert train.list_variables(str(tmp_path)) == wanted
    np.testing.assert_array_equal(train.load_variable(str(tmp_path), "old/w"), WEIGHTS)
    assert train.load_variable(prefix, "step:0") == 9
    assert train.load_variable(str(FIXTURES / "plain"), "i64") == 7
    for reader in (train.NewCheckpointReader(prefix), train.load_checkpoint(prefix)):
        assert reader.has_tensor("step")
        assert reader.get_tensor("step") == 9
        reader.close()


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no checkpoint, or no 'checkpoint' file"):
        train.load_checkpoint(str(tmp_path))
    with pytest.raises(NotFoundError, match="there is no checkpoint"):
        train.load_checkpoint(str(tmp_path / "m"))


# -- first values ----------------------------------------------------------------------------------


def test_a_variable_starts_from_a_tensor_of_the_checkpoint(graph: Graph, prefix: str) -> None:
    w, b = ops.Variable(np.zeros((4, 2), np.float32), name="w"), ops.Variable([0.0], name="b")
    other = ops.Variable(1.0, name="other")
    train.init_from_checkpoint(prefix, {"old/w": w, "old/b": "b"})
    found = initial(w, b, other)
    np.testing.assert_array_equal(found[0], WEIGHTS)
    assert (found[1].tolist(), found[2]) == ([5], 1)


def test_another_dtype_is_found_when_the_initializer_runs(graph: Graph, prefix: str) -> None:
    b = ops.Variable([0], name="b")
    train.init_from_checkpoint(prefix, {"old/b": b})
    with pytest.raises(InvalidArgumentError, match=r"'old/b' is float32 .* int32 is wanted here"):
        initial(b)


def test_names_may_be_the_same_throughout(graph: Graph, prefix: str) -> None:
    step = ops.Variable(np.int64(0), name="step")
    train.init_from_checkpoint(prefix, {"/": "/"})
    assert initial(step) == [9]


def test_what_starts_from_a_variable_sees_what_it_starts_from(graph: Graph, prefix: str) -> None:
    b = ops.Variable([0.0], name="b")
    train.init_from_checkpoint(prefix, {"old/b": b})
    assert initial(ops.Variable(b.initial_value * 2.0))[0].tolist() == [10]


def test_everything_starts_from_a_scope(graph: Graph, prefix: str) -> None:
    b = ops.Variable([0.0], name="b")
    train.init_from_checkpoint(prefix, {"old/": "/"})
    assert initial(b)[0].tolist() == [5]


@pytest.mark.parametrize("mapping", [{"old/": "new/"}, [("old/", "new/")]], ids=["dict", "pairs"])
def test_a_scope_starts_from_a_scope(graph: Graph, prefix: str, mapping: Any) -> None:
    w, b = ops.Variable(np.zeros((4, 2), np.float32), name="new/w"), ops.Variable([0.0], name="new/b")
    train.init_from_checkpoint(prefix, mapping)
    found = initial(w, b)
    np.testing.assert_array_equal(found[0], WEIGHTS)
    assert found[1].tolist() == [5]


@pytest.mark.parametrize("by_name", [True, False])
def test_the_parts_of_a_variable_start_from_slices(graph: Graph, prefix: str, by_name: bool) -> None:
    whole = parts_of(np.zeros_like(WEIGHTS), [0, 1, 4], "new")
    train.init_from_checkpoint(prefix, {"old/w": "new" if by_name else whole})
    np.testing.assert_array_equal(np.concatenate(initial(*whole)), WEIGHTS)


def test_a_variable_may_start_from_tensorflow(graph: Graph) -> None:
    kernel = ops.Variable(np.zeros((2, 2), np.float32), name="kernel")
    train.init_from_checkpoint(str(FIXTURES / "plain"), {"layer/": "/"})
    np.testing.assert_array_equal(initial(kernel)[0], np.ones((2, 2)))


@pytest.mark.parametrize(
    ("mapping", "match"),
    [
        ({"gone": "b"}, "has no tensor 'gone'"),
        ({"old/b": "gone"}, "no variable 'gone'"),
        ({"old/": "b"}, "a scope can only be assigned to a scope"),
        ({"old/b": "new/"}, "a scope can only be assigned to a scope"),
        ({"old/": "new/"}, "no variables in 'new/'"),
        ({"gone/": "/"}, "no tensor 'gone/b'"),
        ({"old/w": "b"}, r"'b' has shape \(1,\), but the tensor 'old/w' .* \[4, 2\]"),
    ],
    ids=range(7),
)
def test_assignments_that_make_no_sense_are_refused(graph: Graph, prefix: str, mapping: Any, match: str) -> None:
    ops.Variable([0.0], name="b")
    with pytest.raises(ValueError, match=match):
        train.init_from_checkpoint(prefix, mapping)
    assert initial(*ops.global_variables())[0].tolist() == [0]


def put(prefix: Path) -> str:
    save(str(prefix), ["x"], [""], [np.zeros(1)])
    return str(prefix)


# -- the form --------------------------------------------------------------------------------------


def test_the_text_is_the_one_that_tensorflow_writes() -> None:
    state = CheckpointState("m-2", ["m-1", "m-2"], [1.5, 2.0], 3.0)
    assert state.to_text() == (
        'model_checkpoint_path: "m-2"\n'
        'all_model_checkpoint_paths: "m-1"\n'
        'all_model_checkpoint_paths: "m-2"\n'
        "all_model_checkpoint_timestamps: 1.5\n"
        "all_model_checkpoint_timestamps: 2.0\n"
        "last_preserved_timestamp: 3.0\n"
    )


@pytest.mark.parametrize("path", ['a"b', "a'b", "a\\b", "a\nb\tc", "grün/模型", "\udcff", ""])
def test_every_path_comes_back(path: str) -> None:
    text = CheckpointState(path, [path]).to_text()
    assert text.isascii()
    assert CheckpointState.from_text(text) == CheckpointState(path, [path])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", CheckpointState()),
        ("  # nothing\n", CheckpointState()),
        ("model_checkpoint_path : 'a' # why\n", CheckpointState("a")),
        ('model_checkpoint_path: "a" "b"\n  \'c\'', CheckpointState("abc")),
        ('model_checkpoint_path: "\\x41\\102\\n"', CheckpointState("AB\n")),
        (
            'model_checkpoint_path: "a", last_preserved_timestamp: 2e0;',
            CheckpointState("a", last_preserved_timestamp=2.0),
        ),
        ("all_model_checkpoint_timestamps: 1.5f", CheckpointState(all_model_checkpoint_timestamps=[1.5])),
    ],
)
def test_other_ways_to_write_the_same_are_read(text: str, wanted: CheckpointState) -> None:
    assert CheckpointState.from_text(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "garbage {",
        'other: "x"',
        "model_checkpoint_path: 3",
        'last_preserved_timestamp: "x"',
        'model_checkpoint_path: "a',
        "last_preserved_timestamp: soon",
    ],
)
def test_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"field|string|number"):
        CheckpointState.from_text(text)


# -- the file --------------------------------------------------------------------------------------


def test_the_state_of_a_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    new, old = str(tmp_path / "m-2"), str(tmp_path / "m-1")
    train.update_checkpoint_state(str(tmp_path), new, [old, new])
    assert train.get_checkpoint_state(str(tmp_path)) == CheckpointState(new, [old, new])
    # The latest is added to the others.
    found = train.generate_checkpoint_state_proto(str(tmp_path), "m-2", ["m-1"])
    assert found.all_model_checkpoint_paths == ["m-1", "m-2"]
    # A checkpoint with the name of the state file is refused.
    with pytest.raises(RuntimeError, match="same name as the state file"):
        train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    # There is a timestamp for each path or none.
    with pytest.raises(ValueError, match="2 timestamps for 1 checkpoints"):
        train.update_checkpoint_state(str(tmp_path), "a", ["a"], all_model_checkpoint_timestamps=[1.0, 2.0])
    train.update_checkpoint_state(
        str(tmp_path), "a", ["a"], all_model_checkpoint_timestamps=[1.0], last_preserved_timestamp=2.0
    )
    state = train.get_checkpoint_state(str(tmp_path))
    assert state is not None
    assert (state.all_model_checkpoint_timestamps, state.last_preserved_timestamp) == ([1.0], 2.0)


def test_paths_in_a_relative_folder_become_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train.update_checkpoint_state("run", "run/m-2", ["run/m-1", "/far/m-0"], latest_filename="last")
    assert Path("run/last").read_text() == (
        'model_checkpoint_path: "m-2"\n'
        'all_model_checkpoint_paths: "m-1"\n'
        'all_model_checkpoint_paths: "/far/m-0"\n'
        'all_model_checkpoint_paths: "m-2"  # crc32 d48dbdeb\n'
    )
    found = train.get_checkpoint_state("run", "last")
    assert found is not None
    assert found.all_model_checkpoint_paths == ["run/m-1", "/far/m-0", "run/m-2"]


def test_no_state_file_and_an_unreadable_one_give_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert train.get_checkpoint_state(str(tmp_path)) is None
    assert train.get_checkpoint_state(str(tmp_path / "no" / "folder")) is None
    (tmp_path / "checkpoint").write_text("garbage {")
    with caplog.at_level(logging.WARNING, "actorsession.train"):
        assert train.get_checkpoint_state(str(tmp_path)) is None
    assert "ignored: line 1 is not a field" in caplog.text


def test_a_state_file_that_cannot_be_written_leaves_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train.update_checkpoint_state(str(tmp_path), "a")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OpError, match="No space left"):
        train.update_checkpoint_state(str(tmp_path), "b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint"]
    assert 'model_checkpoint_path: "a"' in (tmp_path / "checkpoint").read_text()


def test_the_latest_checkpoint_is_the_named_one_if_it_exists(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert train.latest_checkpoint(str(tmp_path)) is None
    prefix = put(tmp_path / "m-1")
    train.update_checkpoint_state(str(tmp_path), prefix)
    assert train.latest_checkpoint(str(tmp_path)) == prefix
    train.remove_checkpoint(prefix)
    with caplog.at_level(logging.ERROR, "actorsession.train"):
        assert train.latest_checkpoint(str(tmp_path)) is None
    assert "m-1' do not exist" in caplog.text


def test_the_latest_checkpoint_may_be_one_of_tensorflow(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[1] / "checkpoints" / "fixtures"
    assert train.checkpoint_exists(str(fixtures / "plain"))
    assert not train.checkpoint_exists(str(fixtures / "plai"))
    # Times of checkpoints that are not there are left out.
    first, second = put(tmp_path / "a"), put(tmp_path / "b")
    os.utime(first + ".safetensors", (5, 7.5))
    os.utime(second + ".safetensors", (5, 9))
    assert train.get_checkpoint_mtimes([first, str(tmp_path / "c"), second]) == [7.5, 9.0]


def test_removing_takes_the_graph_along_and_may_be_done_twice(tmp_path: Path) -> None:
    prefix = put(tmp_path / "m-1")
    (tmp_path / "m-1.meta").touch()
    (tmp_path / "m-1.graph").touch()
    train.remove_checkpoint(prefix)
    assert [p.name for p in tmp_path.iterdir()] == ["m-1.graph"]
    train.remove_checkpoint(prefix, meta_graph_suffix="graph")
    assert list(tmp_path.iterdir()) == []
