"""What programs switch on and off of TensorFlow's behaviour, and the version that they see."""

from __future__ import annotations

from typing import Any

from actorsession.errors import UnimplementedError
from actorsession.graph.dtypes import show_types_as
from actorsession.graph.shape import use_dimensions

__all__ = [
    "COMPILER_VERSION", "CXX11_ABI_FLAG", "GIT_VERSION", "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "MONOLITHIC_BUILD", "VERSION",
    "__compiler_version__", "__cxx11_abi_flag__", "__git_version__", "__monolithic_build__", "__version__",
    "control_flow_v2_enabled", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_v2_behavior", "disable_v2_tensorshape", "enable_eager_execution",
    "enable_resource_variables", "enable_v2_tensorshape", "executing_eagerly",
    "resource_variables_enabled",
]  # fmt: skip

__version__ = VERSION = "1.15.0"
"""The version of TensorFlow's API that the names follow, for programs that check it."""

__git_version__ = GIT_VERSION = "v1.15.0-rc3-22-g590d6eef7e"
"""The commit of the TensorFlow whose interface the names follow."""

__compiler_version__ = COMPILER_VERSION = "none"
"""There is no compiled code."""

CXX11_ABI_FLAG = __cxx11_abi_flag__ = 0
MONOLITHIC_BUILD = __monolithic_build__ = 0
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0

_resource_variables = False


def disable_eager_execution() -> None:
    """Do nothing: this library has only graphs."""


disable_control_flow_v2 = disable_eager_execution


def enable_resource_variables() -> None:
    """Make the variables of ``tf`` resource variables unless a call says otherwise, for the whole process."""
    global _resource_variables
    _resource_variables = True


def disable_resource_variables() -> None:
    """Make the variables of ``tf`` reference variables unless a call says otherwise, as in the beginning."""
    global _resource_variables
    _resource_variables = False


def control_flow_v2_enabled() -> bool:
    """Return false: branches and loops are those of TensorFlow 1."""
    return False


def resource_variables_enabled() -> bool:
    """Return whether variables are resource variables unless a call says otherwise."""
    return _resource_variables


def disable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ``Dimension`` objects, for the whole process.

    A program then reads a dimension as ``x.shape[0].value``.
    """
    use_dimensions(True)


def disable_v2_behavior() -> None:
    """Show shapes and element types as TensorFlow 1 does; see ``disable_v2_tensorshape``."""
    disable_v2_tensorshape()
    show_types_as("tf.")


def enable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ints and ``None``, which is the initial setting."""
    use_dimensions(False)


def executing_eagerly() -> Any:
    """Return whether operations run immediately: always ``False``."""
    return False


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Refuse eager execution: operations are added to a graph, which a session runs.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError(
        "there is no eager execution here; build operations in a Graph and run them with a Session"
    )
