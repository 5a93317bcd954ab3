"""``tf.config.experimental``: the same under the names of TensorFlow 1, and how the memory of GPUs is taken."""

from __future__ import annotations

from actorsession.compat.absent import saying_why as _saying_why
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.config.devices": (
        "get_memory_growth get_visible_devices list_logical_devices list_physical_devices set_memory_growth "
        "set_visible_devices"
    )
}

__all__, _load, __dir__ = lazy_names(__name__, _NAMES)
__getattr__ = _saying_why(_load, "config.experimental")
