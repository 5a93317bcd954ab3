"""``tf.contrib.checkpoint``: the manager of checkpoints, and containers saved with what they hold."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.train.checkpoints.manager import CheckpointManager
from actorsession.compat.v1.train.checkpoints.objects import AutoTrackable, parts_of

__all__ = ["CheckpointManager", "Checkpointable", "List", "Mapping"]

Checkpointable = AutoTrackable


class List(list[Any]):
    """A list whose items are saved with it; it takes the items one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__(args)

    __hash__ = object.__hash__  # type: ignore[assignment]

    @property
    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return list(parts_of(self))


class Mapping(dict[str, Any]):
    """A dictionary whose values are saved with it."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    @property
    def _checkpoint_dependencies(self) -> list[tuple[str, Any]]:
        return list(parts_of(self))
