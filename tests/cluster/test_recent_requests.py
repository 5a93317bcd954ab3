"""Requests that come twice."""

from __future__ import annotations

import pytest

from actorsession.cluster.recent_requests import RecentRequests
from actorsession.errors import AbortedError


def test_a_request_that_comes_again_is_refused() -> None:
    requests = RecentRequests()
    requests.check("a-1")
    requests.check("a-2")
    with pytest.raises(AbortedError, match="'a-1' was seen before"):
        requests.check("a-1")


def test_requests_without_an_id_are_never_repeats() -> None:
    requests = RecentRequests()
    for _ in range(3):
        requests.check("")
    requests.check("a")
    with pytest.raises(AbortedError):
        requests.check("a")


def test_only_the_latest_are_remembered() -> None:
    requests = RecentRequests(kept=3)
    for number in range(4):
        requests.check(str(number))
    requests.check("0")  # forgotten
    for number in (2, 3, 0):
        with pytest.raises(AbortedError):
            requests.check(str(number))
