"""Optimisers as TensorFlow 1.15's: rates by their name, schedules, ``minimize`` and ``apply_gradients``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import actorsession.compat.v1 as _tf

__all__ = ["LearningRateSchedule", "bridge", "untrained"]

tf: Any = _tf


def bridge(keras: Any, as_tensorflow: bool) -> None:
    """Give Keras' optimisers what TensorFlow's have beyond them.

    Args:
        keras: the package.
        as_tensorflow: whether ``clipnorm`` is for each gradient, rather than for all of them together.
    """
    module = keras.optimizers
    base = module.Optimizer
    found: Any
    for found in list(vars(module).values()):
        if isinstance(found, type) and issubclass(found, base):
            _accept_rates(found)
            if "get_updates" in found.__dict__:
                setattr(found, "get_updates", untrained(found.__dict__["get_updates"]))  # noqa: B010
    if as_tensorflow:
        base.get_gradients = _clipped_alone(base.get_gradients)
    base.minimize, base.apply_gradients = minimize, apply_gradients
    module.schedules = ModuleType(
        "keras.optimizers.schedules", "Learning rates that follow the step."
    )
    for name, schedule in _SCHEDULES.items():
        setattr(module.schedules, name, schedule)
    module.schedules.LearningRateSchedule = LearningRateSchedule
    module.Ftrl = functools.partial(_ftrl, module.TFOptimizer)


def _clipped_alone(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def run(self: Any, loss: Any, params: Any) -> Any:
        norm = self.__dict__.pop("clipnorm", None)
        try:
            found = own(self, loss, params)
        finally:
            if norm is not None:
                self.clipnorm = norm
        return [tf.clip_by_norm(grad, norm) for grad in found] if norm else found

    return run


def _accept_rates(optimizer: Any) -> None:
    """Have an optimiser take ``lr`` and ``learning_rate``, numbers and schedules."""
    own = optimizer.__dict__.get("__init__")
    if own is None:
        return
    parameters = list(inspect.signature(own).parameters)
    rate = next((name for name in ("lr", "learning_rate") if name in parameters), None)
    if rate is None:
        return

    @functools.wraps(own)
    @untrained
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("name", None)
        for name in ("lr", "learning_rate"):
            if name in kwargs:
                kwargs[rate] = kwargs.pop(name)
        if args:
            kwargs[rate], args = args[0], args[1:]
            kwargs.update(zip(parameters[2:], args, strict=False))
        schedule = kwargs.get(rate)
        if not isinstance(schedule, LearningRateSchedule):
            own(self, **kwargs)
            return
        own(self, **{**kwargs, rate: 0.0})
        setattr(self, rate, schedule(self.iterations))

    optimizer.__init__ = init
    other = "learning_rate" if rate == "lr" else "lr"
    setattr(
        optimizer,
        other,
        property(
            lambda self: getattr(self, rate),
            lambda self, value: setattr(self, rate, value),
            doc="The learning rate.",
        ),
    )


def untrained(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have variables that a function makes be no variables that training changes.

    Args:
        function: the function.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        trained = tf.get_collection_ref(tf.GraphKeys.TRAINABLE_VARIABLES)
        before = len(trained)
        try:
            return function(*args, **kwargs)
        finally:
            del trained[before:]

    return run


def apply_gradients(self: Any, grads_and_vars: Iterable[Any], name: str | None = None) -> Any:
    """Return the operation that updates variables by their gradients.

    Args:
        grads_and_vars: gradients with their variables; variables without a gradient are left out.
        name: the operation's name.
    """
    pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
    if not pairs:
        raise ValueError("No gradients provided for any variable.")
    self.get_gradients = lambda loss, params: [grad for grad, _ in pairs]
    try:
        updates = self.get_updates(loss=None, params=[variable for _, variable in pairs])
    finally:
        del self.get_gradients
    return tf.group(*updates, name=name)


def minimize(
    self: Any, loss: Any, var_list: Any = None, grad_loss: Any = None, name: str | None = None
) -> Any:
    """Return the operation that makes a loss smaller.

    Args:
        loss: the loss.
        var_list: the variables; those that are trained if left out.
        grad_loss: the gradient of the loss, if it is not 1.
        name: the operation's name.
    """
    given = var_list() if callable(var_list) else var_list
    variables = list(tf.trainable_variables() if given is None else given)
    found = tf.gradients(loss, variables, grad_ys=grad_loss)
    pairs = [(grad, variable) for grad, variable in zip(found, variables, strict=True)]
    if grad_loss is None and (hasattr(self, "clipnorm") or hasattr(self, "clipvalue")):
        kept = [variable for grad, variable in pairs if grad is not None]
        pairs = list(zip(self.get_gradients(loss, kept), kept, strict=True))
    return apply_gradients(self, pairs, name)


def _ftrl(
    wrapper: Any, learning_rate: float = 0.001, learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0, name: str = "Ftrl",
    l2_shrinkage_regularization_strength: float = 0.0, **kwargs: Any,
) -> Any:  # fmt: skip
    """``tf.train.FtrlOptimizer`` as an optimiser of Keras, which has none."""
    return wrapper(tf.train.FtrlOptimizer(
        kwargs.get("lr", learning_rate), learning_rate_power, initial_accumulator_value,
        l1_regularization_strength, l2_regularization_strength, name=name,
        l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
    ))  # fmt: skip


# -- schedules -----------------------------------------------------------------------------------


class LearningRateSchedule:
    """A learning rate that follows the step."""

    _decay: Callable[..., Any]
    _defaults: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(self._defaults, args, strict=False))
        if unknown := sorted(set(kwargs) - set(self._defaults)):
            raise TypeError(f"{type(self).__name__}: unknown arguments {', '.join(unknown)}")
        self._config = {**self._defaults, **given, **kwargs}
        if missing := [name for name, value in self._config.items() if value is ...]:
            raise TypeError(f"{type(self).__name__}: missing arguments {', '.join(missing)}")

    def __call__(self, step: Any) -> Any:
        """Return the rate at a step, a tensor."""
        return type(self)._decay(step, **self._config)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return dict(self._config)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """Return the schedule of arguments."""
        return cls(**config)


def _of(decay: str) -> Callable[..., Any]:
    def run(step: Any, initial_learning_rate: float, **kwargs: Any) -> Any:
        return getattr(tf.train, decay)(initial_learning_rate, step, **kwargs)

    return run


def _pieces(step: Any, boundaries: Any, values: Any, name: str | None) -> Any:
    return tf.train.piecewise_constant(step, boundaries, values, name=name)


_FIRST = {"initial_learning_rate": ..., "decay_steps": ...}
_RATE = {**_FIRST, "decay_rate": ..., "staircase": False, "name": None}
# What computes each, and its arguments with their defaults.
_ROWS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ExponentialDecay": (_of("exponential_decay"), _RATE),
    "InverseTimeDecay": (_of("inverse_time_decay"), _RATE),
    "PiecewiseConstantDecay": (_pieces, {"boundaries": ..., "values": ..., "name": None}),
    "PolynomialDecay": (_of("polynomial_decay"), {
        **_FIRST, "end_learning_rate": 0.0001, "power": 1.0, "cycle": False, "name": None,
    }),
}  # fmt: skip
_SCHEDULES = {
    name: type(
        name, (LearningRateSchedule,), {"_decay": staticmethod(decay), "_defaults": defaults}
    )
    for name, (decay, defaults) in _ROWS.items()
}
