"""What tests of stories, defects and determinism show for a few seeds, for many: in the whole suite alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from tests.conftest import FRESH_SEED
from tests.testing.planted import DEFECTS, planted
from tests.testing.seeds import MENDED_IN_LONG, MORE, assert_all_hold, assert_mended, differing, seeds_until_found

# Seeds within which each planted defect has to be found.
_MOST = 1000

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.usefixtures("quiet")]


@pytest.mark.parametrize("seed", MORE)
def test_all_checks_hold_in_more_stories(seed: int) -> None:
    assert_all_hold(seed)


@pytest.mark.parametrize("number", range(10))
def test_all_checks_hold_in_stories_that_nobody_has_played(
    number: int, testrun_uid: str, record_property: Callable[[str, object], None]
) -> None:
    """Other seeds in each run of the suite, which prints them at its end."""
    seed = int.from_bytes(hashlib.sha256(f"{testrun_uid} {number}".encode()).digest()[:4])
    record_property(FRESH_SEED, seed)
    assert_all_hold(seed)


@pytest.mark.parametrize("name", MENDED_IN_LONG)
def test_what_was_mended_in_long_stories_stays_so(name: str) -> None:
    assert_mended(name)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found_within_a_thousand_seeds(name: str) -> None:
    with planted(name) as defect:
        assert seeds_until_found(defect, 0, _MOST) is not None


@pytest.mark.process
def test_traces_are_the_same_in_another_process() -> None:
    """A thousand stories of clusters would take a core ten minutes."""
    assert differing(1000, 60) == []
