"""The numerics check: whether a node has itself produced a NaN or an infinity.

A node is at fault if an output has a NaN and no input has one, or an output has an infinity and no input has
either. So a node that only propagates such values is not blamed. Called with the node's values for each node
of a run that breaks on numerics; builds the error only for a node at fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.records import dataclass

__all__ = ["NumericsPoint"]


@dataclass(frozen=True, slots=True)
class NumericsPoint:
    """A node whose outputs are checked.

    Attributes:
        node_name: name of the node, or of the tensor's node if it is fed.
        op_type: its op type.
        device: full name of its device.
        source: the user's line that built it.
        fed: whether the value comes from the caller.
        outputs: name and type of each checked output.
        inputs: name and type of each input with a value.
        resources: names of the inputs without a value.
    """

    node_name: str
    op_type: str
    device: str
    source: str
    fed: bool
    outputs: tuple[tuple[str, DType], ...]
    inputs: tuple[tuple[str, DType], ...]
    resources: tuple[str, ...]

    def check(self, values: Sequence[Any]) -> None:
        """Raise if the node is at fault, which ends the step.

        Args:
            values: outputs, followed by inputs.

        Raises:
            InvalidArgumentError: naming the node, its faulty outputs and its inputs.
        """
        count = len(self.outputs)
        outputs = values[:count]
        if all(np.isfinite(value).all() for value in outputs):
            return
        inputs = [value for value, (_, dtype) in zip(values[count:], self.inputs, strict=True) if dtype.kind in "fc"]
        had_nan = any(np.isnan(value).any() for value in inputs)
        had_inf = any(np.isinf(value).any() for value in inputs)
        made_nan = not had_nan and any(np.isnan(value).any() for value in outputs)
        made_inf = not (had_nan or had_inf) and any(np.isinf(value).any() for value in outputs)
        if made_nan or made_inf:
            raise self._error(outputs, values[count:])

    def _error(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> InvalidArgumentError:
        counts = "; ".join(
            [
                _counts(name, dtype, value)
                for (name, dtype), value in zip(self.outputs, outputs, strict=True)
                if not np.isfinite(value).all()
            ]
        )
        if self.fed:
            text = f"a NaN or Inf was fed: {counts}"
        else:
            text = f"{self.node_name!r} ({self.op_type}) made a NaN or Inf: {counts}; {self._from(inputs)}"
        return InvalidArgumentError(
            f"{text}. Nodes that may do so are named in break_exclude",
            node=self.node_name,
            device=self.device,
            source=self.source,
        )

    def _from(self, inputs: Sequence[Any]) -> str:
        seen = [_range(n, d, v) for (n, d), v in zip(self.inputs, inputs, strict=True)]
        seen.extend([f"{name} (resource)" for name in self.resources])
        return f"inputs: {'; '.join(seen)}" if seen else "it has no inputs"


def _counts(name: str, dtype: DType, value: Any) -> str:
    nans, infs = int(np.isnan(value).sum()), int(np.isinf(value).sum())
    return f"{name} ({_type(dtype, value)}) has {nans} NaN and {infs} Inf of {np.size(value)} elements"


def _type(dtype: DType, value: Any) -> str:
    return f"{dtype.name}[{', '.join(map(str, np.shape(value)))}]"


def _range(name: str, dtype: DType, value: Any) -> str:
    """Return the text on an input: name, type, least and greatest element."""
    text = f"{name} ({_type(dtype, value)})"
    if dtype.kind not in "biufc":
        return text
    array = np.asarray(value)
    array = array[~np.isnan(array)] if dtype.kind in "fc" else array
    if not array.size:
        return f"{text} has no numbers"
    if dtype.kind == "c":
        size = np.abs(array)
        return f"{text} min |.| {size.min()!s}, max |.| {size.max()!s}"
    return f"{text} min {array.min()!s}, max {array.max()!s}"
