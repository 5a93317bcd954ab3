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
    adagrad = module.Adagrad
    adagrad.__init__ = _accumulating(adagrad.__init__, 0.1 if as_tensorflow else 0.0)
    adagrad.get_updates, adagrad.get_config = _adagrad, _with_start(adagrad.get_config)
    optimizer: Any
    for optimizer in set(filter(inspect.isclass, vars(module).values())):
        if issubclass(optimizer, base):
            _accept_rates(optimizer, _RATES.get(optimizer.__name__) if as_tensorflow else None)
            if "get_updates" in optimizer.__dict__:
                setattr(optimizer, "get_updates", _recorded(optimizer.__dict__["get_updates"]))  # noqa: B010
    base.get_slot_names, base.get_slot = get_slot_names, get_slot
    if as_tensorflow:
        base.get_gradients = _clipped_alone(base.get_gradients)
    base.minimize, base.apply_gradients = minimize, apply_gradients
    module.schedules = ModuleType("keras.optimizers.schedules", "Learning rates that follow the step.")
    for name, schedule in _SCHEDULES.items():
        setattr(module.schedules, name, schedule)
    module.schedules.LearningRateSchedule = LearningRateSchedule
    module.Ftrl = functools.partial(_ftrl, module.TFOptimizer)


# Rates that are others than Keras' where a program gives none.
_RATES = dict.fromkeys(("Adadelta", "Adagrad", "Adamax", "Nadam"), 0.001)
# Arguments of TensorFlow's ``RMSprop`` that Keras' does not have, which files of models name.
_ABSENT = {"centered", "momentum"}
# What an optimiser keeps for each variable, in the order of its ``weights``, by the names in checkpoints.
_SLOTS = {
    "SGD": ["momentum"],
    "RMSprop": ["rms"],
    "Adagrad": ["accumulator"],
    "Adadelta": ["accum_grad", "accum_var"],
    "Adam": ["m", "v", "vhat"],
    "Adamax": ["m", "v"],
    "Nadam": ["m", "v"],
}


def _clipped_alone(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def run(self: Any, loss: Any, params: Any) -> Any:
        norm = self.__dict__.pop("clipnorm", None)
        try:
            gradients = own(self, loss, params)
        finally:
            if norm is not None:
                self.clipnorm = norm
        return [tf.clip_by_norm(grad, norm) for grad in gradients] if norm else gradients

    return run


def _accept_rates(optimizer: Any, default: float | None) -> None:
    """Have an optimiser take ``lr`` and ``learning_rate``, numbers and schedules, with another default."""
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
        for name in _ABSENT.difference(parameters):
            if not kwargs.get(name):
                kwargs.pop(name, None)
        if default is not None:
            kwargs.setdefault(rate, default)
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
            lambda self: getattr(self, rate), lambda self, value: setattr(self, rate, value), doc="The learning rate."
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


# -- what an optimiser keeps ---------------------------------------------------------------------


def _recorded(get_updates: Callable[..., Any]) -> Callable[..., Any]:
    """``get_updates`` whose variables are not trained, and which keeps for what they are."""
    names = list(inspect.signature(get_updates).parameters)

    @functools.wraps(get_updates)
    @untrained
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = {**dict(zip(names[1:], args, strict=False)), **kwargs}
        self._of = list(arguments["params"])
        return get_updates(self, *args, **kwargs)

    return run


def get_slot_names(self: Any) -> list[str]:
    """Return the names of what the optimiser keeps for each variable."""
    known = (_SLOTS[kind.__name__] for kind in type(self).__mro__ if kind.__name__ in _SLOTS)
    return [name for name in next(known, []) if name != "vhat" or self.amsgrad]


def get_slot(self: Any, var: Any, name: str) -> Any:
    """Return what the optimiser keeps for a variable; ``None`` before the updates have been made.

    Args:
        var: the variable.
        name: one of ``get_slot_names``.
    """
    of = self.__dict__.get("_of", [])
    own = {id(value) for value in vars(self).values()}
    kept = [weight for weight in self.weights if id(weight) not in own]
    first = self.get_slot_names().index(name) * len(of)
    for trained, slot in zip(of, kept[first:], strict=False):
        if trained is var:
            return slot
    return None


def _accumulating(init: Callable[..., Any], start: float) -> Callable[..., Any]:
    """``Adagrad.__init__`` that takes what the sums of squares begin with."""

    @functools.wraps(init)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        self.initial_accumulator_value = float(kwargs.pop("initial_accumulator_value", start))
        if self.initial_accumulator_value < 0:
            raise ValueError(f"initial_accumulator_value must be 0 or more, got {self.initial_accumulator_value}")
        init(self, *args, **kwargs)

    return run


def _with_start(get_config: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(get_config)
    def run(self: Any) -> Any:
        return {**get_config(self), "initial_accumulator_value": self.initial_accumulator_value}

    return run


def _adagrad(self: Any, loss: Any, params: Any) -> Any:
    """``Adagrad.get_updates`` whose sums of squares begin with a number."""
    sums = [
        tf.Variable(
            tf.fill(variable.shape.as_list(), tf.cast(self.initial_accumulator_value, variable.dtype)),
            name=f"accumulator_{number}",
            use_resource=True,
        )
        for number, variable in enumerate(params)
    ]
    rate = self.learning_rate
    if self.initial_decay > 0:
        rate = rate / (1.0 + self.decay * tf.cast(self.iterations, self.decay.dtype))
    self.weights = [self.iterations, *sums]
    with tf.control_dependencies([tf.identity(rate)]):  # which is that of the steps before
        self.updates = [tf.assign_add(self.iterations, 1)]
    for variable, grad, kept in zip(params, self.get_gradients(loss, params), sums, strict=True):
        total = kept + tf.square(grad)
        new = variable - rate * grad / (tf.sqrt(total) + self.epsilon)
        constraint = getattr(variable, "constraint", None)
        self.updates += [tf.assign(kept, total), tf.assign(variable, new if constraint is None else constraint(new))]
    return self.updates


# -- steps ---------------------------------------------------------------------------------------


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


def minimize(self: Any, loss: Any, var_list: Any = None, grad_loss: Any = None, name: str | None = None) -> Any:
    """Return the operation that makes a loss smaller.

    Args:
        loss: the loss.
        var_list: the variables; those that are trained if left out.
        grad_loss: the gradient of the loss, if it is not 1.
        name: the operation's name.
    """
    listed = var_list() if callable(var_list) else var_list
    variables = list(tf.trainable_variables() if listed is None else listed)
    gradients = tf.gradients(loss, variables, grad_ys=grad_loss)
    pairs = [(grad, variable) for grad, variable in zip(gradients, variables, strict=True)]
    if grad_loss is None and (hasattr(self, "clipnorm") or hasattr(self, "clipvalue")):
        kept = [variable for grad, variable in pairs if grad is not None]
        pairs = list(zip(self.get_gradients(loss, kept), kept, strict=True))
    return apply_gradients(self, pairs, name)


def _ftrl(
    wrapper: Any,
    learning_rate: float = 0.001,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    name: str = "Ftrl",
    l2_shrinkage_regularization_strength: float = 0.0,
    **kwargs: Any,
) -> Any:
    """``tf.train.FtrlOptimizer`` as an optimiser of Keras, which has none."""
    return wrapper(
        tf.train.FtrlOptimizer(
            kwargs.get("lr", learning_rate),
            learning_rate_power,
            initial_accumulator_value,
            l1_regularization_strength,
            l2_regularization_strength,
            name=name,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
    )


# -- schedules -----------------------------------------------------------------------------------


class LearningRateSchedule:
    """A learning rate that follows the step."""

    _decay: Callable[..., Any]
    _defaults: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        settings = dict(zip(self._defaults, args, strict=False))
        if unknown := sorted(set(kwargs) - set(self._defaults)):
            raise TypeError(f"{type(self).__name__}: unknown arguments {', '.join(unknown)}")
        self._config = {**self._defaults, **settings, **kwargs}
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
    "PolynomialDecay": (
        _of("polynomial_decay"),
        {**_FIRST, "end_learning_rate": 0.0001, "power": 1.0, "cycle": False, "name": None},
    ),
}
_SCHEDULES = {
    name: type(name, (LearningRateSchedule,), {"_decay": staticmethod(decay), "_defaults": defaults})
    for name, (decay, defaults) in _ROWS.items()
}
