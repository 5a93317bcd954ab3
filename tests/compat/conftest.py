"""What holds for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from actorsession.graph.dtypes import show_types_as
from actorsession.graph.shape import use_dimensions


@pytest.fixture(autouse=True)
def shapes_consist_of_ints_again() -> Iterator[None]:
    """``disable_v2_behavior`` changes them for the whole process."""
    yield
    use_dimensions(False)
    show_types_as("actorsession.")


@pytest.fixture
def graph() -> Iterator[Any]:
    """Return a new graph of TensorFlow 1, which is the default one of the test."""
    with tf.Graph().as_default() as graph:
        yield graph
