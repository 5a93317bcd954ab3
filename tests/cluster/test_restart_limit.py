"""How often a task may be started again, by a clock that the test sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import LocalCluster
from actorsession.cluster.launch.restart_limit import WINDOW, RestartLimit


def attempts_at_once(most: int) -> list[float]:
    """The times of the attempts for a task that ends at the moment at which it is started."""
    limit, now = RestartLimit(most), 100.0
    times = []
    while (pause := limit.pause(now)) is not None:
        now += pause
        limit.record(now)
        times.append(now)
        assert len(times) <= most
    return times


@pytest.mark.parametrize("most", [1, 2, 3, 10, 100, 1000])
def test_a_task_that_ends_at_once_reaches_the_limit_within_the_window(most: int) -> None:
    times = attempts_at_once(most)
    assert len(times) == most
    assert times[-1] - 100.0 <= WINDOW / 2 + 1e-9


def test_the_pauses_grow_fourfold() -> None:
    np.testing.assert_allclose(np.diff([100.0, *attempts_at_once(4)]), [0.1, 0.4, 1.6, 6.4])


def test_the_pauses_stop_growing_where_they_would_fill_half_of_the_window() -> None:
    pauses = np.diff([100.0, *attempts_at_once(10)])
    assert pauses.max() == pytest.approx(3.0)


def test_an_attempt_counts_for_a_window_and_no_longer() -> None:
    limit = RestartLimit(2)
    for now in (0.0, 10.0):
        limit.record(now)
    assert limit.pause(WINDOW - 0.01) is None
    assert limit.pause(WINDOW) == pytest.approx(0.4)
    assert limit.counted == 1
    assert limit.pause(10.0 + WINDOW) == pytest.approx(0.1)


def test_without_restarts_there_is_no_attempt() -> None:
    assert RestartLimit(0).pause(0.0) is None


@pytest.mark.parametrize(
    ("restart", "kind"), [(True, TypeError), (1.0, TypeError), ("3", TypeError), (-1, ValueError), (10**18, ValueError)]
)
def test_a_number_of_restarts_is_an_integer_from_0(restart: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"started again within 60 s, 0 or more; got "):
        LocalCluster({"worker": 1}, restart=restart)


def test_a_number_of_restarts_may_be_one_of_numpy() -> None:
    assert LocalCluster({"worker": 1}, restart=np.int64(2)).restarts == {}  # type: ignore[arg-type]
