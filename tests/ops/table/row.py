"""What a row of the table says of one operation type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Fault", "Row"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Values that an op cannot take.

    Attributes:
        inputs: the values.
        match: what the message of the InvalidArgumentError of the kernel matches; the static shapes are
            hidden then, so that nothing is found early.
        static: what the message of the ValueError matches which the line that builds the node raises when the
            shapes are known; ``None`` if only the kernel can tell.
        early: what that message matches when the integers are constants; ``match`` if empty, ``static`` if
            ``None``.
    """

    inputs: tuple[Any, ...]
    match: str
    static: str | None = None
    early: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to use an operation type; a type may have several rows.

    Attributes:
        op: operation type; the graph that ``build`` makes must have a node of it.
        build: from tensors to a tensor or a list of tensors.
        numpy: from the arrays that those tensors stand for to what comes out, an array or a list of them;
            their dtypes and shapes count.
        inputs: the arrays of each case: the usual, empty, scalar, broadcast, with NaN and infinities.
        smooth: the arrays of each case for which the gradient is compared with finite differences, in
            float64; arguments that are no floats are not differentiated by.
        wrt: which arguments the gradient is taken by; all floating ones if left out.
        no_gradient: why there is none, where TensorFlow has none either.
        faults: values that it refuses.
        label: what this way is called, where an operation type has several.
        exact: whether values must be equal, or close as rounding goes.
        rtol: relative tolerance where they need not be equal.
        step: of the finite differences.
        needs: a module of an extra without which the row is skipped.
    """

    op: str
    build: Callable[..., Any]
    numpy: Callable[..., Any]
    inputs: Sequence[tuple[Any, ...]]
    smooth: Sequence[tuple[Any, ...]] = ()
    wrt: Sequence[int] | None = None
    no_gradient: str | None = None
    faults: Sequence[Fault] = ()
    label: str = ""
    exact: bool = True
    rtol: float = 1e-5
    step: float = 1e-5
    needs: str = ""

    @property
    def id(self) -> str:
        """What its tests are called."""
        return f"{self.op}-{self.label}" if self.label else self.op
