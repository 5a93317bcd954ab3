"""Answers of servers that commands are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import actorsession.cluster
from actorsession.cli import status


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that says what servers answer, by the function that asks them."""

    def replace_by(**functions: Any) -> None:
        for name, function in functions.items():
            monkeypatch.setattr(status if name == "ask_cluster" else actorsession.cluster, name, function)

    return replace_by
