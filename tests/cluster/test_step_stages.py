"""The table of stages says what there is, and the page on the architecture shows it."""

from __future__ import annotations

from pathlib import Path

import actorsession
from actorsession.cluster.step_stages import STAGES, stages_table
from tests.test_docs_names import classes

ROOT = Path(actorsession.__file__).parents[1]


def test_the_calls_of_the_stages_exist() -> None:
    known = classes()
    calls = [call.split(".") for stage in STAGES for call in stage.calls]
    missing = [call for call in calls if call[1] not in known.get(call[0], ())]
    assert missing == []


def test_the_page_on_the_architecture_shows_the_table() -> None:
    assert stages_table() in (ROOT / "docs/architecture.md").read_text()
