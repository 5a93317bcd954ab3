"""What holds for every test of actors: asyncio has nothing to complain about."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest


class _Complaints(logging.Handler):
    """Keeps what was logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(autouse=True)
def asyncio_complains_of_nothing() -> Iterator[None]:
    """Fail a test after which asyncio reports an exception nobody looked at, or a lost task."""
    complaints = _Complaints()
    logger = logging.getLogger("asyncio")
    logger.addHandler(complaints)
    try:
        yield
        gc.collect(1)  # what the test has made is young; the whole heap would take 50 ms
    finally:
        logger.removeHandler(complaints)
    assert complaints.texts == []
