"""Dropout around a cell: ``DropoutWrapper``.

Each tensor with dropout has its own seed, derived from the wrapper's seed, from the kind of the tensor and
from its position among those, as in TensorFlow.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from actorsession import ops
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.graph import name_scope
from actorsession.ops.neural.dropout import dropout
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple
from actorsession.train.layers.recurrent.cells.wrappers import CellWrapper
from actorsession.train.layers.recurrent.sizes import known_shape

__all__ = ["DropoutWrapper"]


class DropoutWrapper(CellWrapper):
    """A cell with dropout of its inputs, outputs and states.

    Args:
        cell: the cell.
        input_keep_prob: the share of the inputs that is kept, a number or a scalar tensor; 1 disables
            dropout.
        output_keep_prob: the same for outputs.
        state_keep_prob: the same for the next states, as far as the visitor selects them.
        variational_recurrent: whether to drop the same columns in all steps of a run and for all members of
            the batch.
        input_size: the size of the inputs, a structure of shapes; needed for variational dropout of inputs.
        dtype: the dtype of the tensors with dropout; needed for ``variational_recurrent``.
        seed: the seed of the random sequence.
        dropout_state_filter_visitor: returns for a state, and for each structure and tensor in it, whether
            dropout applies: a bool, or a structure of bools like it. By default it applies to everything but
            the memory ``c`` of an ``LSTMStateTuple`` and ``TensorArray``s.
        kwargs: see ``RNNCell``.

    Raises:
        TypeError: if ``cell`` is not a cell or the visitor is not callable.
        ValueError: for shares outside [0, 1], or if an argument that ``variational_recurrent`` needs is
            missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        visitor = dropout_state_filter_visitor
        if visitor is not None and not callable(visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._visitor = visitor or _all_but_memories
        self._seed = seed
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _share(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = _share(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = _share(output_keep_prob, "output_keep_prob")
        self._noises: dict[str, Any] = {}
        if variational_recurrent:
            self._draw(cell, input_size, dtype)

    def _draw(self, cell: Any, input_size: Any, dtype: Any) -> None:
        """Create the noise that all steps of a run share."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        drawn = {"state": cell.state_size, "output": cell.output_size}
        if _drops(self._input_keep_prob):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size "
                    "must be provided"
                )
            drawn = {"input": input_size, **drawn}
        for what, size in drawn.items():
            places = itertools.count()

            def noise(each: Any, what: str = what, places: Iterator[int] = places) -> Any:
                seed = self._seed_of(what, next(places))
                return ops.random_uniform(known_shape(1, each), dtype=dtype, seed=seed)

            self._noises[what] = nests.mapped(noise, size)

    def _seed_of(self, what: str, place: int) -> int | None:
        if self._seed is None:
            return None
        salted = f"{self._seed}{what}_{place}".encode()
        return int(hashlib.md5(salted, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _wrapped(self, inputs: Any, state: Any, function: Callable[..., Any], **kwargs: Any) -> tuple[Any, Any]:
        if _drops(self._input_keep_prob):
            inputs = self._dropped("input", inputs, True, self._input_keep_prob)
        outputs, after = function(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            chosen = _chosen(self._visitor, after)
            after = self._dropped("state", after, chosen, self._state_keep_prob)
        if _drops(self._output_keep_prob):
            outputs = self._dropped("output", outputs, True, self._output_keep_prob)
        return outputs, after

    def _dropped(self, what: str, values: Any, chosen: Any, keep: Any) -> Any:
        """Return the values, with dropout where it is selected."""
        places = itertools.count()

        def visit(part: Any, chosen: Any, noises: Any) -> Any:
            if nests.is_nested(part) and chosen is not False:
                if chosen is True:
                    chosen = nests.level(lambda _: True, part)
                if noises is None:
                    noises = nests.level(lambda _: None, part)
                return nests.level(visit, part, chosen, noises)
            place = next(places)
            if not chosen:
                return part
            if noises is None:
                return dropout(part, rate=1.0 - keep, seed=self._seed_of(what, place))
            scaled = ops.divide(part, keep) * ops.floor(keep + noises)
            scaled.set_shape(part.shape)
            return scaled

        return visit(values, chosen, self._noises.get(what))


def _share(value: Any, what: str) -> Any:
    """Return a share as a float if its value is static, else as a tensor."""
    tensor = ops.convert_to_tensor(value)
    known = get_static_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {what} must be between 0 and 1: {known}")
    return float(known)


def _drops(keep: Any) -> bool:
    return not isinstance(keep, float) or keep < 1


def _all_but_memories(part: Any) -> Any:
    if isinstance(part, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(part, ops.TensorArray)


def _chosen(visitor: Callable[[Any], Any], state: Any) -> Any:
    """Return the decisions of a visitor for a state and everything in it, as a structure of bools."""
    said = visitor(state)
    if not nests.is_nested(state) or said is False:
        return _as_bool(said)
    if nests.is_nested(said):
        return nests.level(lambda each, part: _as_bool(each) and _as_bool(visitor(part)), said, state)
    _as_bool(said)
    return nests.level(lambda part: _chosen(visitor, part), state)


def _as_bool(said: Any) -> bool:
    if not isinstance(said, bool):
        raise TypeError(f"dropout_state_filter_visitor must return True or False for a tensor, got {said!r}")
    return said
