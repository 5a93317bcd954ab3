"""What holds for every test of actors: asyncio has nothing to complain about."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def asyncio_complains_of_nothing(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test after which asyncio reports an exception nobody looked at, or a lost task."""
    yield
    gc.collect(1)  # what the test has made is young; the whole heap would take 50 ms
    complaints = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "asyncio" and record.levelno >= logging.ERROR
    ]
    assert complaints == []
