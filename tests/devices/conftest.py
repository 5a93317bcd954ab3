"""What a device type of a plug-in is registered for stays in its test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def forgets_the_device_type(registrations: None) -> None:
    """It is loaded when a session first asks for it."""
