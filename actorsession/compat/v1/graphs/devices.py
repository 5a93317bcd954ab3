"""``tf.DeviceSpec`` of TensorFlow 1, whose fields can be set after construction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from actorsession.graph import device as ours

__all__ = ["DeviceSpec"]


class DeviceSpec(ours.DeviceSpec):
    """``actorsession``'s device specification with TensorFlow's methods that change it."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        changed = replace(ours.DeviceSpec(), **{name: value})
        object.__setattr__(self, name, getattr(changed, name))

    def parse_from_string(self, spec: str) -> Self:
        """Set the fields from a device name, and return the specification itself.

        Raises:
            ValueError: for a malformed name.
        """
        self._become(ours.DeviceSpec.parse(spec))
        return self

    def merge_from(self, dev: ours.DeviceSpec) -> None:
        """Set the fields that another specification defines."""
        self._become(self.merge(dev))

    def make_merged_spec(self, dev: ours.DeviceSpec) -> DeviceSpec:
        """Return a specification with the fields that another defines and otherwise those of this one."""
        merged = DeviceSpec()
        merged._become(self.merge(dev))
        return merged

    def replace(self, **parts: Any) -> DeviceSpec:
        """Return a copy of the specification with some fields changed."""
        return replace(self, **parts)

    def _become(self, other: ours.DeviceSpec) -> None:
        for part in ("job", "replica", "task", "device_type", "device_index"):
            object.__setattr__(self, part, getattr(other, part))
