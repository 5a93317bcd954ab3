"""What a row of the table says of one operation type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

from tests.nodes import make

__all__ = ["Fault", "Row", "known", "rows_of"]


def _case(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)


def _node(op: str, attrs: Mapping[str, Any], *inputs: Any) -> Any:
    outputs = make(op, inputs, attrs).outputs
    return outputs[0] if len(outputs) == 1 else list(outputs)


@dataclass(frozen=True, slots=True)
class Fault:
    """Values that an op cannot take.

    Attributes:
        inputs: the values; one alone without a tuple.
        match: what the message of the InvalidArgumentError of the kernel matches; the static shapes are
            hidden then, so that nothing is found early.
        static: what the message of the ValueError matches which the line that builds the node raises when the
            shapes are known; ``None`` if only the kernel can tell.
        early: what that message matches when the integers are constants; ``match`` if empty, ``static`` if
            ``None``.
    """

    inputs: Any
    match: str
    static: str | None = None
    early: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One way to use an operation type; a type may have several rows.

    Attributes:
        name: the operation type; after a hyphen, what this way is called where a type has several.
        build: from tensors to a tensor or a list of tensors; their graph must have a node of the type. Or the
            attributes of such a node, which is what is built then.
        numpy: from the arrays that those tensors stand for to what comes out, an array or a list of them;
            their dtypes and shapes count. A row without inputs needs none.
        inputs: the arrays of each case: the usual, empty, scalar, broadcast, with NaN and infinities.
        smooth: the arrays of each case for which the gradient is compared with finite differences, in
            float64; arguments that are no floats are not differentiated by. No row of a type has any where
            there is no gradient, as in TensorFlow.
        faults: values that it refuses.
        wrt: which arguments the gradient is taken by; all floating ones if left out.
        rtol: relative tolerance; without one values are equal.
        step: of the finite differences.
        needs: a module of an extra without which the row is skipped.
    """

    name: str
    build: Any
    numpy: Callable[..., Any] = lambda *_: None
    inputs: Sequence[tuple[Any, ...]] = ()
    smooth: Sequence[tuple[Any, ...]] = ()
    faults: Sequence[Fault] = ()
    wrt: Sequence[int] | None = None
    rtol: float = 0
    step: float = 1e-5
    needs: str = ""

    @property
    def op(self) -> str:
        """The operation type."""
        return self.name.partition("-")[0]

    def on(self, inputs: Sequence[Any], smooth: Sequence[Any] = (), faults: Sequence[Fault] = (), **more: Any) -> Row:
        """Return the row with these cases; a case of one array may stand without its tuple."""
        build = self.build if callable(self.build) else partial(_node, self.op, self.build)
        refused = [replace(fault, inputs=_case(fault.inputs)) for fault in faults]
        given, at = ([*map(_case, cases)] for cases in (inputs, smooth))
        return replace(self, build=build, inputs=given, smooth=at, faults=refused, **more)


def known(name: str, build: Callable[..., Any], *pairs: tuple[Any, Any]) -> list[Row]:
    """Return rows of one case each, from pairs of it and what comes out."""
    return [
        Row(f"{name}-{number}", build, lambda *_, out=out: out).on([given]) for number, (given, out) in enumerate(pairs)
    ]


def rows_of(family: ModuleType) -> list[Row]:
    """Return the rows of a module: those that its variables hold, alone or in lists."""
    held = [value if isinstance(value, list) else [value] for value in vars(family).values()]
    return [row for values in held for row in values if isinstance(row, Row)]
