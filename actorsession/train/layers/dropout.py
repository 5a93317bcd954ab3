"""``Dropout``, which sets random entries of its inputs to 0 while a model is trained."""

from __future__ import annotations

from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.ops.neural.dropout import dropout
from actorsession.train.layers.arguments import checked_number
from actorsession.train.layers.layer import Layer, LayerSettings, smart_cond

__all__ = ["Dropout"]


class Dropout(Layer):
    """Set random entries to 0 and scale the others up, while training only.

    Args:
        rate: the probability of each entry to be dropped, in [0, 1): a number or a scalar tensor.
        noise_shape: the shape of the random choice; see ``nn.dropout``.
        seed: the op's own seed.
        settings: see ``Layer``.

    Raises:
        ValueError: for a rate out of range.
        TypeError: for inputs that are not floating, or for a ``training`` that is no bool.
    """

    def __init__(
        self, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, **settings: Unpack[LayerSettings]
    ) -> None:
        super().__init__(**settings)
        if isinstance(checked_number("rate", rate), (int, float)) and not 0 <= rate < 1:
            raise ValueError(f"the rate of a dropout is in [0, 1), got {rate}")
        self.rate, self._noise_shape, self._seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        """Build the outputs.

        Args:
            inputs: the inputs, of a floating dtype.
            training: whether entries are dropped: a bool or a scalar bool tensor.
        """
        outputs: Tensor = smart_cond(
            training,
            lambda: dropout(inputs, noise_shape=self._noise_shape, seed=self._seed, rate=self.rate),
            lambda: ops.identity(inputs),
        )
        return outputs
