"""Defects that are planted into the runtime are found by the checks of stories."""

from __future__ import annotations

import pytest

from tests.testing.planted import DEFECTS, planted
from tests.testing.seeds import seeds_until_found

# Seeds that are tried from the one on that is known to find the defect, should stories change.
_FEW = 40

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_found(name: str) -> None:
    with planted(name) as defect:
        assert seeds_until_found(defect, defect.seed, _FEW) is not None
