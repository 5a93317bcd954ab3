"""Two worker processes of two devices each, which the tests of a file share: it takes long to start them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession import LocalCluster

# Where three places are: two devices of the first process and one of the second.
TASKS = ("/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0", "/job:worker/task:0/cpu:1")


@pytest.fixture(scope="module")
def processes() -> Iterator[LocalCluster]:
    with LocalCluster({"worker": 2}, devices=2) as made:
        yield made
