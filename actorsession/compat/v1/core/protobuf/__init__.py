"""``tensorflow.core.protobuf``: the modules of messages that settings are made of."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {".config_pb2": "*=config_pb2"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
