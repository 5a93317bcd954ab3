"""Device types with arrays of their own, as plug-ins bring them.

Tensors of ``BOX`` are ``Box`` objects, and few kernels take them. It has no more than what the seam asks for, and fails
where anything but a box comes to its kernels. Tensors of ``MARK`` have Python's operators and functions of the names of
the array API standard; it has no kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.extend import DeviceFactory, DeviceKernel, DeviceKernels


class Box:
    """A tensor of the device."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.shape, self.nbytes = self.array.shape, self.array.nbytes

    def __bool__(self) -> bool:
        return bool(self.array)


class BoxArrays:
    """Boxes of 32-bit floats; all other tensors are those of the host."""

    def holds(self, dtype: Any) -> bool:
        return dtype == "float32"

    def to_device(self, value: Any) -> Box:
        return value if isinstance(value, Box) else Box(value)

    def to_host(self, value: Any) -> Any:
        return value.array[()] if isinstance(value, Box) else value

    def own(self, value: Any) -> Box:
        return Box(value.array.copy())


calls: list[Any] = []
"""The functions that kernels have called."""


def computed(function: Any) -> DeviceKernel:
    """The kernel of a numpy function, for boxes."""

    def kernel(*boxes: Box) -> Box:
        calls.append(function)
        assert all(type(box) is Box for box in boxes)
        return Box(function(*[box.array for box in boxes]))

    return DeviceKernel(kernel=lambda context: kernel, takes=lambda context: context.inputs[0].dtype == "float32")


class Boxes(DeviceFactory):
    """Devices with boxes."""

    rows = {"AddV2": computed(np.add), "Mul": computed(np.multiply), "MatMul": computed(np.matmul)}
    kernels = DeviceKernels(
        arrays=lambda device: BoxArrays(),
        rows=rows,
        transparent=frozenset({"Identity", "NoOp"}),
        hosted=frozenset({"Atanh"}),
    )

    def list_physical_devices(self) -> list[str]:
        return ["/physical_device:BOX:0"]


# -- arrays with functions of the standard ---------------------------------------------------------


class Marked(np.ndarray[Any, Any]):
    """A tensor of the device."""


class MarkedArrays:
    """32-bit floats and bools; all other tensors are those of the host."""

    def holds(self, dtype: Any) -> bool:
        return dtype in ("float32", "bool")

    def to_device(self, value: Any) -> Marked:
        return np.asarray(value).view(Marked)

    def to_host(self, value: Any) -> Any:
        return np.array(value)[()] if isinstance(value, Marked) else value

    def own(self, value: Any) -> Marked:
        return self.to_device(np.array(value))


class Functions:
    """The functions of the arrays, by the names of the standard."""

    def __getattr__(self, name: str) -> Any:
        def function(*values: Any) -> Marked:
            calls.append(name)
            assert any(type(value) is Marked for value in values)
            return np.asarray(getattr(np, name)(*values)).view(Marked)

        return function


class Marks(DeviceFactory):
    """Devices with marked arrays."""

    kernels = DeviceKernels(arrays=lambda device: MarkedArrays(), rows={}, namespace=Functions())

    def list_physical_devices(self) -> list[str]:
        return ["/physical_device:MARK:0"]
