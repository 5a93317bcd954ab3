"""The demo's data, its training, progress and report."""

from __future__ import annotations

import hashlib
import itertools
import pickle
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.config import StepStats
from actorsession.demo.digits import Digits, load_digits
from actorsession.demo.model import Model, build_model
from actorsession.demo.progress import Bars, Lines, Reporter, reporter
from actorsession.demo.report import failures, save_curves, save_trace, table
from actorsession.demo.training import Checkpoint, Lesson, Plan, batches, check, train
from actorsession.errors import InvalidArgumentError, NotFoundError


@pytest.fixture(scope="module")
def digits() -> Digits:
    return load_digits()


def built() -> tuple[acts.Graph, Model]:
    graph = acts.Graph()
    with graph.as_default():
        return graph, build_model()


def few(digits: Digits, count: int) -> Digits:
    """Digits of which only some are trained on."""
    return Digits(
        train_images=digits.train_images[:count],
        train_labels=digits.train_labels[:count],
        test_images=digits.test_images,
        test_labels=digits.test_labels,
    )


def test_a_round_of_batches_shows_every_image_once_at_most(digits: Digits) -> None:
    small = few(digits, 130)
    first, second = itertools.islice(batches(small, seed=0), 2)
    shown = np.concatenate([first[0], second[0]])
    assert shown.shape == (128, 64)
    assert len(np.unique(shown, axis=0)) == 128
    small = few(digits, 64)
    first, second = itertools.islice(batches(small, seed=0), 2)
    assert not np.array_equal(first[1], second[1])
    np.testing.assert_array_equal(next(batches(small, seed=0))[1], first[1])
    images, labels = next(batches(few(digits, 3), seed=0))
    assert (images.shape, labels.shape) == ((3, 64), (3,))


async def test_the_loss_falls_and_the_steps_are_counted(digits: Digits) -> None:
    graph, model = built()
    images, labels = next(batches(digits, seed=9))
    feeds = {model.images: images, model.labels: labels}
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        before = await session.run(model.loss, feeds)
        curve = await train(session, model, digits, Plan(steps=60, look_every=20), lambda *_: None)
        after = await session.run(model.loss, feeds)
        last = await check(session, model, digits)
    assert [point.step for point in curve] == [20, 40, 60]
    assert after < before / 2
    assert last == curve[-1]
    assert last.accuracy > 0.8


async def test_progress_adds_up_to_all_steps(digits: Digits) -> None:
    graph, model = built()
    told: list[tuple[int, float | None]] = []
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        await train(session, model, digits, Plan(steps=25, look_every=0), lambda *news: told.append(news))
    assert told == [(10, None), (10, None), (5, None)]
    graph, model = built()
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        before = await check(session, model, digits)
        assert await train(session, model, digits, Plan(steps=0, look_every=0), _refuse) == []
        assert await check(session, model, digits) == before


def _refuse(_steps: int, _accuracy: float | None) -> None:
    raise AssertionError("there is no progress to tell")


async def test_two_replicas_begin_alike(digits: Digits) -> None:
    """Only then may one of them give all variables their values, and the other train them."""
    results = []
    for graph, model in (built(), built()):
        async with acts.AsyncSession(graph=graph) as session:
            await session.run(model.initialize)
            results.append(await check(session, model, digits))
    names = [[op.name for op in graph.get_operations()] for graph, _ in (built(), built())]
    assert names[0] == names[1]
    assert results[0] == results[1]


# From actorsession/demo/data/README.md.
CONTENT_SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


# What the split gave when it was made.
FIRST_TRAINED = [5, 0, 0, 0, 1, 3, 6, 5, 6, 6, 3, 6]


LAST_HELD_OUT = [2, 4, 3, 4, 5, 9, 1, 3, 4, 7, 7, 7]


@dataclass(frozen=True)
class Tripwire:
    """An object that makes a file when it is unpickled."""

    made: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.made,)


def write_digits(path: Path, **changes: Any) -> Path:
    arrays = {
        "images": np.arange(20 * 64, dtype=np.uint8).reshape(20, 64) % 17,
        "labels": np.arange(20, dtype=np.uint8) % 10,
    } | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_the_bundled_file_is_the_one_that_its_readme_describes() -> None:
    data = resources.files("actorsession.demo") / "data"
    with (data / "digits.npz").open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        content = stored["images"].tobytes() + stored["labels"].tobytes()
    assert hashlib.sha256(content).hexdigest() == CONTENT_SHA256
    assert CONTENT_SHA256 in (data / "README.md").read_text(encoding="utf-8")
    digits = load_digits()
    assert digits.train_images.shape == (1437, 64)
    assert digits.train_labels.shape == (1437,)
    assert digits.test_images.shape == (360, 64)
    assert digits.test_labels.shape == (360,)
    digits = load_digits()
    for images in (digits.train_images, digits.test_images):
        assert images.dtype == np.float32
        assert (float(images.min()), float(images.max())) == (0.0, 1.0)
    for labels in (digits.train_labels, digits.test_labels):
        assert labels.dtype == np.int64
        assert set(labels.tolist()) == set(range(10))
    digits = load_digits()
    assert digits.train_labels[:12].tolist() == FIRST_TRAINED
    assert digits.test_labels[-12:].tolist() == LAST_HELD_OUT


def test_every_image_lands_on_one_side_of_the_split_with_its_own_label(tmp_path: Path) -> None:
    """Image i has i in its first two pixels and the label i % 10."""
    count = 33
    images = np.zeros((count, 64), dtype=np.uint8)
    images[:, 0], images[:, 1] = np.divmod(np.arange(count), 16)
    labels = (np.arange(count) % 10).astype(np.uint8)

    digits = load_digits(write_digits(tmp_path / "marked.npz", images=images, labels=labels))

    pixels = np.concatenate([digits.train_images, digits.test_images]) * 16
    marks = pixels[:, 0] * 16 + pixels[:, 1]
    assert sorted(marks.tolist()) == list(range(count))
    np.testing.assert_array_equal(np.concatenate([digits.train_labels, digits.test_labels]), marks % 10)
    assert len(digits.test_labels) == 7  # a fifth of 33, rounded up


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    assert len(load_digits(str(write_digits(tmp_path / "small.npz"))).train_labels) == 16


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": None}, "labels"),
        ({"images": np.zeros((20, 64))}, "'images' has dtype float64"),
        ({"labels": np.zeros(20, dtype=np.int64)}, "'labels' has dtype int64"),
        ({"images": np.zeros((20, 8, 8), dtype=np.uint8)}, r"'images' has shape \(20, 8, 8\)"),
        ({"labels": np.zeros(19, dtype=np.uint8)}, r"shape \(19,\) beside 20 images"),
        ({"images": np.full((20, 64), 17, dtype=np.uint8)}, "'images' has the value 17"),
        ({"labels": np.full(20, 10, dtype=np.uint8)}, "'labels' has the value 10"),
        ({"images": np.zeros((4, 64), dtype=np.uint8), "labels": np.zeros(4, dtype=np.uint8)}, "it contains 4 images"),
    ],
)
def test_a_file_of_another_form_says_what_is_expected(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = write_digits(tmp_path / "other.npz", **changes)
    with pytest.raises(InvalidArgumentError, match=f"other.npz is not a digits file: .*{said}") as e:
        load_digits(path)
    assert "expected an .npz file with 'images' (uint8, shape (N, 64)" in str(e.value)


@pytest.mark.parametrize("content", [b"", b"1,2,3\n", b"PK\x03\x04 cut short", pickle.dumps([1])])
def test_a_file_that_is_no_npz_is_an_invalid_argument(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=r"noise\.npz is not a digits file"):
        load_digits(path)


def test_a_single_array_is_an_invalid_argument(tmp_path: Path) -> None:
    path = tmp_path / "one.npy"
    np.save(path, np.zeros((20, 64), dtype=np.uint8))
    with pytest.raises(InvalidArgumentError, match=r"one\.npy is not a digits file"):
        load_digits(path)
    objects = np.array([Tripwire(tmp_path / "sprung")], dtype=object)
    path = write_digits(tmp_path / "objects.npz", images=objects)
    with pytest.raises(InvalidArgumentError, match="allow_pickle=False"):
        load_digits(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["absent.npz", "."])
def test_a_file_that_cannot_be_read_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="cannot read the digits file"):
        load_digits(tmp_path / name)


def watched_by_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_a_line_is_printed_at_the_beginning_and_at_every_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        lines.begin("one process", 100)
        for step in range(10, 110, 10):
            lines.advance(10, step / 1000)
    assert capsys.readouterr().out.splitlines() == [
        "  one process: step 0 of 100",
        "  one process: step 30 of 100, accuracy 0.030",
        "  one process: step 50 of 100, accuracy 0.050",
        "  one process: step 80 of 100, accuracy 0.080",
        "  one process: step 100 of 100, accuracy 0.100",
    ]
    # A line tells the accuracy that was seen last.
    lines = Lines()
    lines.begin("workers", 4)
    lines.advance(1, None)
    lines.advance(1, 0.5)
    lines.advance(1, None)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  workers: step 1 of 4",
        "  workers: step 2 of 4, accuracy 0.500",
        "  workers: step 3 of 4, accuracy 0.500",
    ]


def test_the_next_lesson_begins_anew(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin("first", 1)
    lines.advance(1, 0.9)
    lines.begin("second", 2)
    lines.advance(1, None)
    assert capsys.readouterr().out.splitlines()[2:] == ["  second: step 0 of 2", "  second: step 1 of 2"]


def test_lines_are_for_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(reporter(wanted=True)) is Lines
    pytest.importorskip("rich")
    watched_by_a_person(monkeypatch)
    assert type(reporter(wanted=True)) is Bars
    watched_by_a_person(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert type(reporter(wanted=True)) is Lines


def test_who_wants_no_progress_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    silence = reporter(wanted=False)
    assert type(silence) is Reporter
    with silence:
        silence.begin("one process", 1)
        silence.advance(1, 1.0)
    assert capsys.readouterr().out == ""


def lesson(where: str = "one process", accuracy: float = 0.98, **fields: object) -> Lesson:
    made = Lesson(where=where, steps=2000, seconds=0.5)
    made.curve = [Checkpoint(0, 0.1), Checkpoint(2000, accuracy)]
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_the_table_has_a_line_for_each_lesson() -> None:
    cluster = lesson("1 ps + 2 workers", 0.9751, step_bytes=57353.4, step_messages=7.05)
    assert table([lesson(), cluster]).splitlines() == [
        "                  steps  steps/s  accuracy  bytes/step  messages/step",
        "one process       2,000    4,000     0.980           0              0",
        "1 ps + 2 workers  2,000    4,000     0.975      57,353           7.05",
    ]


def test_a_lesson_below_the_mark_is_a_failure_and_one_at_it_is_not() -> None:
    found = list(failures([lesson("good", 0.95), lesson("bad", 0.9499)]))
    assert found == ["bad: accuracy 0.950 on the held-out images after 2000 steps; at least 0.95 was expected"]


def test_without_a_distributed_step_there_is_no_trace(tmp_path: Path) -> None:
    assert "omitted" in save_trace([lesson()], tmp_path)
    assert list(tmp_path.iterdir()) == []
    said = save_trace([lesson(), lesson(trace=StepStats(1))], tmp_path)
    assert str(tmp_path / "trace.json") in said
    assert "https://ui.perfetto.dev" in said
    assert (tmp_path / "trace.json").exists()


def test_without_matplotlib_it_is_said_how_to_get_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = save_curves([lesson()], tmp_path)
    assert "omitted" in said
    assert "pip install 'actorsession[demo]'" in said
    assert list(tmp_path.iterdir()) == []
