"""``tf.config``: which devices there are, and which of them sessions use."""

from __future__ import annotations

from actorsession.compat.absent import saying_why as _saying_why
from actorsession.lazy_names import lazy_names

_NAMES = {
    ".devices": (
        "LogicalDevice PhysicalDevice get_visible_devices list_logical_devices list_physical_devices "
        "set_visible_devices"
    ),
    ".experimental": "*=experimental",
}

__all__, _load, __dir__ = lazy_names(__name__, _NAMES)
__getattr__ = _saying_why(_load, "config")
