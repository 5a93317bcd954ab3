"""Defects that are planted into the runtime are found by the checks of stories."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from actorsession.testing.simulation.explore import play
from actorsession.testing.simulation.story import Story
from tests.testing.planted import DEFECTS, Defect, planted

# Seeds that may be needed; from the one on that is known to find the defect a few, should stories change.
_MOST, _FEW = 1000, 40


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Servers say much of what befalls them, and tests fail for warnings that nobody expects."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def seeds_until_found(defect: Defect, first: int, most: int) -> int | None:
    """How many seeds are played until a check finds a defect that is planted; ``None`` if that are too many."""
    for count in range(1, most + 1):
        if play(Story.draw(first + count - 1))[0].failed & defect.checks:
            return count
    return None


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(name: str) -> None:
    with planted(name) as defect:
        assert seeds_until_found(defect, defect.seed, _FEW) is not None


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found_within_a_thousand_seeds(name: str) -> None:
    with planted(name) as defect:
        assert seeds_until_found(defect, 0, _MOST) is not None
