"""``CallableOptions`` and ``TensorConnection`` as messages that are filled in after they were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from actorsession import config
from actorsession.compat.v1.runs import RunOptions
from actorsession.compat.v1.settings import Message, as_settings

__all__ = ["CallableOptions", "TensorConnection"]


class TensorConnection(Message):
    """A connection; the fields are those of ``actorsession.config.TensorConnection``."""

    _made_of = config.TensorConnection


class CallableOptions(Message):
    """A run described by names; the fields are those of ``actorsession.config.CallableOptions``."""

    _made_of = config.CallableOptions
    # Run options may be set in place as well, but are no Message.
    _messages: ClassVar[Mapping[str, Any]] = {"run_options": RunOptions}
    _lists: ClassVar[Mapping[str, type[Message]]] = {"tensor_connection": TensorConnection}

    def frozen(self) -> config.CallableOptions:
        """Return the library's options with the same contents."""
        values = {name: as_settings(value) for name, value in self._set().items()}
        if "run_options" in values:
            # A copy, because the caller may change these options afterwards.
            values["run_options"] = values["run_options"].frozen()
        return config.CallableOptions(**values)

    def _set(self) -> dict[str, Any]:
        """Return the fields that are set; options of runs are if one of theirs differs from its default."""
        found = super()._set()
        if "run_options" in found and found["run_options"].frozen() == config.RunOptions():
            del found["run_options"]
        return found
