"""``tf.contrib.util``: conversion of tensors to messages and back."""

from __future__ import annotations

from actorsession.graph.constant_value import get_static_value as constant_value
from actorsession.interop import make_ndarray, make_tensor_proto

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]
