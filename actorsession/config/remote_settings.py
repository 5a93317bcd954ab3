"""Settings that act in local sessions only, and the reasons why a remote session refuses them.

Used by remote sessions before anything is sent, by masters, which must check clients of any kind, and by
servers, whose own settings are the defaults of their sessions.
"""

from __future__ import annotations

from actorsession.config import ConfigProto
from actorsession.errors import InvalidArgumentError

__all__ = ["refuse_local_settings"]

_ONE_POOL = (
    "kernels run in the pool of each server, which all sessions share; size it by "
    "inter_op_parallelism_threads of the server's own config"
)

_KEPT = "servers remember the last steps of all sessions, as their own setting kept_steps says"

_SESSION = {"use_per_session_threads": _ONE_POOL, "session_inter_op_thread_pool": _ONE_POOL, "kept_steps": _KEPT}


def refuse_local_settings(config: ConfigProto) -> None:
    """Refuse settings that masters do not support.

    Args:
        config: the settings of a session, or those that a server has for its sessions.

    Raises:
        InvalidArgumentError: for thread pools of the session's own (TensorFlow's error class), or another setting
            that would have no effect.
    """
    asked = {name: why for name, why in _SESSION.items() if getattr(config, name)}
    if asked:
        reasons = dict.fromkeys(asked.values())
        raise InvalidArgumentError(f"a remote session does not support {' and '.join(asked)}: {'; '.join(reasons)}")
