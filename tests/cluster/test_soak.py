"""The soak in short: see ``soak`` for what has to hold; ``scripts/soak`` runs it whole."""

from __future__ import annotations

import pytest

from tests.cluster.soak import LOOKS, Soak, report
from tests.cluster.stress import STRESS_TESTS
from tests.loops import run_to_end

pytestmark = pytest.mark.process

# Storms of which the tests are as long as they would be here.
OF_THEIR_OWN = ("crash points of writers", "spoilt files")
SECONDS, STEPS, SEED = 8.0, 400, 20261121


@pytest.mark.timeout(240)
def test_steps_are_right_or_fail_with_one_typed_error_while_tasks_come_and_go() -> None:
    """Processes are killed, stopped and started again at random; nothing is left of any step at the end, and
    memory is flat."""
    soak = Soak(SECONDS, STEPS, SEED)
    tally = run_to_end(soak.run())
    seen = "\n".join([f"seed {SEED}", *report(soak, SECONDS)])
    assert not tally.wrong, seen
    assert tally.runs >= STEPS, seen
    assert tally.right > STEPS / 2, seen
    assert tally.faults, seen
    assert len(tally.memory["client"]) >= LOOKS, seen


@pytest.mark.whole
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", [name for name in STRESS_TESTS if name not in OF_THEIR_OWN])
def test_what_clusters_broke_under_once_breaks_nothing(name: str) -> None:
    seen = run_to_end(STRESS_TESTS[name](2.0, SEED))
    assert not seen.wrong, seen
    assert seen.done
