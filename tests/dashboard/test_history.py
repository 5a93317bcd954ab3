from __future__ import annotations

import math

import pytest

from actorsession.dashboard import History, Sample


def sample(rate: float) -> Sample:
    return Sample(rate, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)


def test_it_keeps_the_last_points_of_each_task() -> None:
    history = History(3)
    for second in range(5):
        history.add(second, {"a": sample(second), "b": sample(10 * second)})
    read = history.read(0.0)
    assert read["times"] == [2.0, 3.0, 4.0]
    assert read["tasks"]["a"]["rate"] == [2.0, 3.0, 4.0]
    assert read["tasks"]["b"]["rate"] == [20.0, 30.0, 40.0]
    assert read["tasks"]["a"]["cpu"] == [None, None, None]


def test_a_task_that_was_silent_has_a_gap() -> None:
    history = History(4)
    for second, seen in enumerate([{"a": sample(1)}, {}, {"a": sample(3), "b": sample(4)}]):
        history.add(second, seen)
    read = history.read(0.0)
    assert read["tasks"]["a"]["rate"] == [1.0, None, 3.0]
    assert read["tasks"]["b"]["rate"] == [None, None, 4.0]


def test_only_what_is_asked_for_is_read() -> None:
    history = History(10)
    for second in range(10):
        history.add(second, {"a": sample(second), "b": sample(0)})
    read = history.read(6.0, ["a", "none"])
    assert list(read["tasks"]) == ["a"]
    assert read["times"] == [6.0, 7.0, 8.0, 9.0]


def test_neighbours_are_averaged_into_one_point() -> None:
    history = History(8)
    for second in range(8):
        history.add(second, {"a": sample(second if second != 5 else math.nan)})
    read = history.read(0.0, points=4)
    assert read["times"] == [1.0, 3.0, 5.0, 7.0]
    assert read["tasks"]["a"]["rate"] == [0.5, 2.5, 4.0, 6.5]


def test_nothing_was_seen_yet() -> None:
    assert History(5).read(0.0) == {"times": [], "tasks": {}}


@pytest.mark.parametrize("gone", [1, 7])
def test_tasks_that_come_and_go_take_no_more_memory(gone: int) -> None:
    history = History(20)
    sizes = []
    for second in range(400):
        history.add(second, {f"task{(second // gone + k) % 10_000}": sample(second) for k in range(3)})
        sizes.append(history.nbytes)
    assert sizes[-1] == sizes[200]
    assert len(history.read(0.0)["tasks"]) <= 20 // gone + 6


@pytest.mark.parametrize("tasks", [1, 100, 3000])
@pytest.mark.parametrize("points", [1, 20, 3000])
def test_an_answer_has_a_limit(tasks: int, points: int) -> None:
    history = History(50)
    samples = {f"task{k}": sample(1.0) for k in range(tasks)}
    for second in range(50):
        history.add(second, samples)
    read = history.read(0.0, points=points)
    assert 2 <= len(read["times"]) <= max(2, points)
    assert len(read["times"]) * len(read["tasks"]) * 7 <= 200_000


def test_an_hour_of_a_thousand_tasks_fits_into_memory() -> None:
    history = History(1800)
    history.add(0.0, {f"task{k}": sample(1.0) for k in range(1000)})
    assert history.nbytes < 64 * 2**20
