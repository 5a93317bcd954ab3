"""What holds for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession.graph.dtypes import show_types_as
from actorsession.graph.shape import use_dimensions


@pytest.fixture(autouse=True)
def shapes_consist_of_ints_again() -> Iterator[None]:
    """``disable_v2_behavior`` changes them for the whole process."""
    yield
    use_dimensions(False)
    show_types_as("actorsession.")
