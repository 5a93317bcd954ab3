"""What the tests of the page share: one process of the browser for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dashboard.chromium import started


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a browser; a page of its own shares nothing with those of other tests."""
    with started(tmp_path_factory.mktemp("chromium")) as address:
        yield address
