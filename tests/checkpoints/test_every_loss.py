"""Checkpoints on a machine that loses power: what ``test_power_loss`` shows at every fourth call, at each."""

from __future__ import annotations

import pytest

from tests.checkpoints.test_power_loss import NAMES, assert_old_or_new


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_power_at_any_call_leaves_the_old_checkpoint_or_the_new_one(name: str) -> None:
    assert_old_or_new(name)
