"""Fixtures of the tests of the kit."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def quiet() -> Iterator[None]:
    """Servers of stories say much of what befalls them, and tests fail for warnings that nobody expects."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
