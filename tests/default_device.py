"""Where tests find what asks for no device: on the CPU, or on a device of the type of ``pytest --device TYPE``.

``conftest.py`` calls ``choose`` before any module of tests is imported.
"""

from __future__ import annotations

import pytest

LOCAL_TASK = "/job:localhost/replica:0/task:0"
LOCAL = f"{LOCAL_TASK}/device:"
TYPE = "CPU"
"""The type."""
HOME = "CPU:0"
"""The device of a session with its defaults, without the task."""
BESIDE: list[str] = []
"""It once more, if sessions with their defaults have it beside the CPU."""
HERE = f"{LOCAL}{HOME}"
"""Its full name."""
TORCH = "TORCH_CPU"
"""The type of torch's devices that their own tests are about."""


def choose(device_type: str) -> None:
    """Let all sessions of this process prefer a type."""
    global TYPE, HOME, BESIDE, HERE, TORCH
    from actorsession.extend import prefer_device_type

    prefer_device_type(device_type)
    TYPE = TORCH = device_type
    HOME, BESIDE, HERE = f"{TYPE}:0", [f"{TYPE}:0"], f"{LOCAL}{TYPE}:0"


def of_the_cpu_alone(reason: str) -> pytest.MarkDecorator:
    """Skip a test whose subject is a kernel or a number of the CPU, where another type is preferred."""
    return pytest.mark.skipif(TYPE != "CPU", reason=f"not with {TYPE} as the default device: {reason}")
