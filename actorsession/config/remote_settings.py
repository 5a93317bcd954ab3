"""Settings that act in local sessions only, and the reasons why a remote session refuses them.

Used by remote sessions before anything is sent, by masters, which must check clients of any kind, and by
servers for their own settings.
"""

from __future__ import annotations

from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError

__all__ = ["refuse_local_settings"]

_ONE_POOL = (
    "kernels run in the pool of each server, which all sessions share; size it by "
    "inter_op_parallelism_threads of the server's own config"
)
_NO_SESSION = "a server measures the steps of the sessions whose own settings ask for it"

_SESSION = {
    "use_per_session_threads": _ONE_POOL,
    "session_inter_op_thread_pool": _ONE_POOL,
}
_OF_SERVER = {**_SESSION, "placement_period": _NO_SESSION}
_GRAPH_OPTIONS_OF_SERVER = dict.fromkeys(
    ("timeline_step", "build_cost_model", "build_cost_model_after"), _NO_SESSION
)


def refuse_local_settings(config: ConfigProto, *, of_server: bool = False) -> None:
    """Refuse settings that masters and servers do not support.

    Args:
        config: the settings of a session or of a server.
        of_server: whether they are those of a server, which has no cost model of its own either.

    Raises:
        InvalidArgumentError: for thread pools of the session's own (TensorFlow's error class), or a setting
            that would have no effect.
    """
    settings = _OF_SERVER if of_server else _SESSION
    asked = {name: why for name, why in settings.items() if getattr(config, name)}
    if of_server:
        asked |= {
            f"graph_options.{name}": why
            for name, why in _GRAPH_OPTIONS_OF_SERVER.items()
            if getattr(config.graph_options, name)
        }
    if asked:
        reasons = dict.fromkeys(asked.values())
        raise InvalidArgumentError(
            f"a remote session does not support {' and '.join(asked)}: {'; '.join(reasons)}"
        )
