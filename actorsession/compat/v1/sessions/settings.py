"""Messages of settings as the library's own settings: those of sessions, runs, callables and servers.

The library's settings are immutable and refuse what has no effect. TensorFlow programs fill in messages, and
many of their fields concern devices and optimisers that are not here. Fields that the library has are taken
over; others are logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from actorsession import config as settings
from actorsession.compat.v1.logging import get_logger, show_placement
from actorsession.interop.cluster_protos import ClusterDef
from actorsession.interop.enums import ENUMS, label_of
from actorsession.interop.message import Message
from actorsession.runtime.devices import has_device_type

__all__ = ["as_session_settings", "as_settings", "place_softly"]

_log = get_logger()

# The library's class for each message.
_CLASSES: Mapping[str, Any] = {
    "CallableOptions": settings.CallableOptions,
    "ConfigProto": settings.ConfigProto,
    "ConfigProto.Experimental": settings.Experimental,
    "DebugOptions": settings.DebugOptions,
    "DebugTensorWatch": settings.DebugTensorWatch,
    "GPUOptions": settings.GPUOptions,
    "GraphOptions": settings.GraphOptions,
    "OptimizerOptions": settings.OptimizerOptions,
    "RPCOptions": settings.RPCOptions,
    "RunOptions": settings.RunOptions,
    "RunOptions.Experimental": settings.RunExperimental,
    "SessionMetadata": settings.SessionMetadata,
    "TensorConnection": settings.TensorConnection,
    "ThreadPoolOptionProto": settings.ThreadPoolOptionProto,
}
# What the library refuses because nothing of it is here. Programs that set these compute the same without.
_WITHOUT_EFFECT = frozenset(
    {"cpu_global_jit", "enable_recv_scheduling", "rewrite_options", "use_run_handler_pool", "use_tfrt"}
)
# Numbers that TensorFlow takes for unset when they are negative.
_UNSET_BELOW_ZERO = frozenset(
    {
        "build_cost_model",
        "build_cost_model_after",
        "intra_op_parallelism_threads",
        "max_folded_constant_in_bytes",
        "operation_timeout_in_ms",
        "placement_period",
        "timeline_step",
        "timeout_in_ms",
    }
)


def as_settings(value: Any) -> Any:
    """Return a message of settings as the library's own; any other value is returned as it is.

    Raises:
        InvalidArgumentError: for a value that the library refuses.
    """
    if not isinstance(value, Message) or isinstance(value, ClusterDef):
        return value
    kind = _CLASSES.get(type(value).__qualname__)
    if kind is None:
        return value
    known = {field.name for field in fields(kind)}
    values: dict[str, Any] = {}
    for field, each in value.ListFields():
        if field.name not in known or field.name in _WITHOUT_EFFECT:
            _log.info("%s.%s has no effect here", type(value).__qualname__, field.name)
        elif field.name in _UNSET_BELOW_ZERO and each < 0:
            _log.info("%s.%s=%d counts as unset", type(value).__qualname__, field.name, each)
        elif field.name == "device_count":
            # Many programs ask for no GPUs, for which nobody has to look.
            values[field.name] = {k: max(0, n) for k, n in each.items() if n <= 0 or has_device_type(k)}
        elif field.kind in ENUMS and label_of(field.kind, each) is None:
            # Programs of later versions have more of them; TensorFlow compares the numbers.
            values[field.name] = max([0, *[n for n in ENUMS[field.kind].values() if n < each]])
        elif field.repeated:
            values[field.name] = [as_settings(item) for item in each]
        else:
            values[field.name] = dict(each) if field.key else as_settings(each)
    if values.get("log_device_placement"):
        show_placement()
    return kind(**values)


_soft_placement = False


def place_softly() -> None:
    """Let all sessions of the process that are made from now on set ``allow_soft_placement``."""
    global _soft_placement
    _soft_placement = True


def as_session_settings(value: Any) -> Any:
    """Return the settings of a session; see ``as_settings`` and ``place_softly``."""
    from actorsession.compat.v1.config.devices import default_settings

    own = default_settings() if value is None else as_settings(value)
    if _soft_placement and isinstance(own, settings.ConfigProto | None):
        own = replace(own or settings.ConfigProto(), allow_soft_placement=True)
    return own
