"""What programs switch on and off of TensorFlow's behaviour, and the version that they see."""

from __future__ import annotations

from typing import Any

from actorsession.errors import UnimplementedError
from actorsession.graph.shape import use_dimensions

__all__ = [
    "VERSION", "__version__", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_v2_behavior", "disable_v2_tensorshape",
    "enable_eager_execution", "enable_v2_tensorshape", "executing_eagerly",
]  # fmt: skip

__version__ = VERSION = "1.15.0"
"""The version of TensorFlow's API that the names follow, for programs that check it."""


def disable_eager_execution() -> None:
    """Do nothing: this library has only graphs."""


disable_control_flow_v2 = disable_eager_execution
disable_resource_variables = disable_eager_execution


def disable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ``Dimension`` objects, for the whole process.

    A program then reads a dimension as ``x.shape[0].value``.
    """
    use_dimensions(True)


disable_v2_behavior = disable_v2_tensorshape


def enable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ints and ``None``, which is the initial setting."""
    use_dimensions(False)


def executing_eagerly() -> Any:
    """Return whether operations run immediately: always ``False``."""
    return False


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Refuse eager execution: operations are added to a graph, which a session runs.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError(
        "there is no eager execution here; build operations in a Graph and run them with a Session"
    )
