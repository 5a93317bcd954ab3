"""``tf.contrib.opt``: further optimisers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.compat import v1 as tf
from actorsession.extras import require
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.train import AdamOptimizer, MomentumOptimizer, Optimizer
from actorsession.train.optimizer import WrappingOptimizer

__all__ = [
    "AdaMaxOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "ExternalOptimizerInterface",
    "LARSOptimizer",
    "LazyAdamOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "ScipyOptimizerInterface",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
]


# -- weight decay beside the gradient ----------------------------------------------------------------


class DecoupledWeightDecayExtension:
    """Base of optimisers that shrink variables beside their update (Loshchilov and Hutter, 2017).

    It stands before an optimiser among the bases of a class. With each step ``var -= weight_decay * var``,
    of the value before the update.

    Args:
        weight_decay: the factor, a number or tensor.
        **kwargs: the arguments of the optimiser.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decayed: set[Any] | None = None
        super().__init__(**kwargs)

    # Whether the rows of a variable are shrunk already, which a base may then update as a whole.
    _by_rows = False

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> Operation:
        """Return the operation that trains; ``decay_var_list`` names the variables that shrink."""
        self._decayed = None if decay_var_list is None else set(decay_var_list)
        train_op: Operation = super().minimize(  # type: ignore[misc]
            loss,
            global_step,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            name,
            grad_loss,
        )
        return train_op

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> Operation:
        """Return the operation that updates variables; see ``minimize``."""
        if decay_var_list is not None:
            self._decayed = set(decay_var_list)
        train_op: Operation = super().apply_gradients(grads_and_vars, global_step, name)  # type: ignore[misc]
        return train_op

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        with tf.control_dependencies([] if self._by_rows else [self._decay(var)]):
            update: Operation = super()._apply_dense(grad, var)  # type: ignore[misc]
        return update

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        with tf.control_dependencies([self._decay(var, grad.indices)]):
            self._by_rows = True
            try:
                update: Operation = super()._apply_sparse(grad, var)  # type: ignore[misc]
            finally:
                self._by_rows = False
        return update

    def _decay(self, var: Any, rows: Any = None) -> Operation:
        """Shrink a variable, or the rows of it that have a gradient."""
        if self._decayed is not None and var not in self._decayed:
            return tf.no_op()
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        factor = tf.cast(decay, var.dtype.base_dtype)
        if rows is None:
            changed = var.assign_sub(factor * var.value())
        else:
            changed = tf.scatter_sub(var, rows, factor * tf.gather(var.value(), rows))
        return tf.group(changed)


def extend_with_decoupled_weight_decay(base_optimizer: type[Any]) -> type[Any]:
    """Return a class that is another optimiser with weight decay; its first argument is ``weight_decay``."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc]
        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay, self._decayed = weight_decay, None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with weight decay beside the gradient; see both bases for the arguments."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with weight decay beside the gradient; see both bases for the arguments."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


# -- variants of Adam --------------------------------------------------------------------------------


class _MomentsOptimizer(AdamOptimizer):
    """Adam whose update of one variable is written with operations; see ``AdamOptimizer``."""

    def _scalars(self, var: Any) -> tuple[Any, Any, Any, Any, Any]:
        """The corrected rate, the betas, epsilon, and the power of the first beta."""
        power1, power2, rate, beta1, beta2, small = (
            self._like(value, var) for value in (*self._powers, self._rate, self._decay1, self._decay2, self._small)
        )
        return rate * tf.sqrt(1.0 - power2) / (1.0 - power1), beta1, beta2, small, power1


class NadamOptimizer(_MomentsOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2015); the arguments are those of ``AdamOptimizer``."""

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        rate, beta1, beta2, small, _ = self._scalars(var)
        m, v = self._slot(var, "m"), self._slot(var, "v")
        moved = m.assign(beta1 * m.value() + (1.0 - beta1) * grad)
        spread = v.assign(beta2 * v.value() + (1.0 - beta2) * tf.square(grad))
        ahead = beta1 * moved + (1.0 - beta1) * grad
        return tf.group(var.assign_sub(rate * ahead / (tf.sqrt(spread) + small)))


class LazyAdamOptimizer(_MomentsOptimizer):
    """Adam that leaves rows without a gradient as they are, and their moments too.

    The arguments are those of ``AdamOptimizer``.
    """

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        rate, beta1, beta2, small, _ = self._scalars(var)
        m, v = self._slot(var, "m"), self._slot(var, "v")
        rows, values = grad.indices, grad.values
        moved = beta1 * tf.gather(m.value(), rows) + (1.0 - beta1) * values
        spread = beta2 * tf.gather(v.value(), rows) + (1.0 - beta2) * tf.square(values)
        changes = [
            tf.scatter_update(m, rows, moved),
            tf.scatter_update(v, rows, spread),
            tf.scatter_sub(var, rows, rate * moved / (tf.sqrt(spread) + small)),
        ]
        return tf.group(*changes)


class AdaMaxOptimizer(_MomentsOptimizer):
    """AdaMax (Kingma and Ba, 2014, section 7.1); the arguments are those of ``AdamOptimizer``."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        _, beta1, beta2, small, power1 = self._scalars(var)
        m, v = self._slot(var, "m"), self._slot(var, "v")
        moved = m.assign(beta1 * m.value() + (1.0 - beta1) * grad)
        largest = v.assign(tf.maximum(beta2 * v.value(), tf.abs(grad)))
        rate = self._like(self._rate, var) / (1.0 - power1)
        return tf.group(var.assign_sub(rate * moved / (largest + small)))


# -- others ------------------------------------------------------------------------------------------


class _SignOptimizer(Optimizer):
    """Base of optimisers that compare the signs of a gradient and of its mean (Bello et al., 2017)."""

    def __init__(self, learning_rate: Any, beta: Any, sign_decay_fn: Any, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta, self._sign_decay_fn = learning_rate, beta, sign_decay_fn

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return the operation that updates variables; the decay of signs is that of the step."""
        self._sign_decay: Any = 1.0
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m")

    def _agreement(self, grad: Tensor, var: Any) -> Any:
        m, beta = self._slot(var, "m"), tf.cast(self._beta, var.dtype.base_dtype)
        mean = m.assign(beta * m.value() + (1.0 - beta) * grad)
        return tf.cast(self._sign_decay, grad.dtype) * tf.sign(grad) * tf.sign(mean)

    def _changed(self, var: Any, factor: Any, grad: Tensor) -> Operation:
        rate = tf.cast(self._learning_rate, grad.dtype)
        return tf.group(var.assign_sub(rate * factor * grad))


class PowerSignOptimizer(_SignOptimizer):
    """Gradient descent whose rate is multiplied by a power of the agreement of signs.

    Args:
        learning_rate: a number or tensor.
        base: the base of the power.
        beta: decay of the mean of gradients.
        sign_decay_fn: from the global step to the weight of the agreement; 1 if omitted.
        use_locking: accepted.
        name: name of the optimiser.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = np.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logarithm = float(np.log(base))

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        return self._changed(var, tf.exp(self._logarithm * self._agreement(grad, var)), grad)


class AddSignOptimizer(_SignOptimizer):
    """Gradient descent to whose rate the agreement of signs is added; see ``PowerSignOptimizer``."""

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: float = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        return self._changed(var, self._alpha + self._agreement(grad, var), grad)


class LARSOptimizer(MomentumOptimizer):
    """Momentum with a rate of its own for each variable, by the norms of it and of its gradient.

    You, Gitman and Ginsburg (2017): ``rate * eeta * |var| / (|grad| + weight_decay * |var| + epsilon)``.

    Args:
        learning_rate: a number or tensor.
        momentum: the decay of the sum of gradients.
        weight_decay: the factor of the variable in its gradient.
        eeta: the trust in a variable's own rate.
        epsilon: keeps the division finite.
        name: name of the optimiser.
        skip_list: parts of names of variables with the plain rate and without decay.
        use_nesterov: as for ``MomentumOptimizer``.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, momentum, False, name, use_nesterov)
        self._weight_decay, self._eeta, self._epsilon_ = weight_decay, eeta, epsilon
        self._skipped = tuple(skip_list or ())

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        rate = self._like(self._rate, var)
        if not any(part in var.name for part in self._skipped):
            value = var.value()
            size, slope = tf.norm(value), tf.norm(grad)
            trust = self._eeta * size / (slope + self._weight_decay * size + self._epsilon_)
            rate = rate * tf.where((size > 0) & (slope > 0), trust, tf.ones_like(trust))
            grad = grad + self._weight_decay * value
        # What is summed up are steps, each with the rate of its time.
        whole, self._rate = self._rate, tf.ones_like(self._rate)
        try:
            return super()._apply_dense(rate * grad, var)
        finally:
            self._rate = whole


class MovingAverageOptimizer(WrappingOptimizer):
    """An optimiser that also keeps moving averages of the variables that another one trains.

    Args:
        opt: the other optimiser.
        average_decay: decay of the averages.
        num_updates: counts the updates; see ``tf.train.ExponentialMovingAverage``.
        sequential_update: whether averages are those of the values after the update.
    """

    def __init__(
        self, opt: Optimizer, average_decay: float = 0.9999, num_updates: Any = None, sequential_update: bool = True
    ) -> None:
        super().__init__(opt, "MovingAverage")
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates)
        self._sequential = sequential_update
        self._averaged: list[Any] = []

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return the operation that updates variables and then their averages."""
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step, name)
        self._averaged = [var for _, var in pairs if var is not None]
        with tf.control_dependencies([train_op] if self._sequential else []):
            averaged = self._ema.apply(self._averaged)
        return tf.group(train_op, averaged, name="train_with_avg")

    def get_variable(self, var: Any) -> Any:
        """Return the average of a variable, or the variable if it has none."""
        average = self._ema.average(var)
        return var if average is None else average

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Any:
        """Return a saver that stores averages under the names of their variables, and the other way round.

        Args:
            var_list: the variables, as for ``tf.train.Saver``; all if omitted.
            name: name of the operations.
            **kwargs: further arguments of ``tf.train.Saver``.

        Raises:
            RuntimeError: before ``apply_gradients``.
        """
        if not self._averaged:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        listed = tf.global_variables() if var_list is None else var_list
        variables = listed if isinstance(listed, Mapping) else {var.op.name: var for var in listed}
        swapped = dict(variables)
        for key, var in variables.items():
            average = self._ema.average(var)
            if average is not None and average.op.name in variables:
                swapped[key], swapped[average.op.name] = average, var
        return tf.train.Saver(swapped, name=name, **kwargs)


def clip_gradients_by_global_norm(gradients_variables: Iterable[Any], clip_norm: float = 20.0) -> list[Any]:
    """Return pairs of gradients and variables with the norm of all gradients limited."""
    grads, variables = zip(*gradients_variables, strict=True)
    clipped, _ = tf.clip_by_global_norm(list(grads), clip_norm)
    return list(zip(clipped, variables, strict=True))


class ExternalOptimizerInterface:
    """Base of optimisers that are functions over numpy arrays; a subclass overrides ``_minimize``.

    Args:
        loss: the loss, a scalar.
        var_list: the variables; all trainable ones if omitted.
        equalities: tensors that shall be zero.
        inequalities: tensors that shall be at least zero.
        var_to_bounds: a pair of bounds by variable: numbers or arrays.
        **optimizer_kwargs: arguments of the function.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self.optimizer_kwargs = optimizer_kwargs
        self._constraints = [("eq", tf.reshape(one, [])) for one in equalities or ()]
        self._constraints += [("ineq", tf.reshape(one, [])) for one in inequalities or ()]
        self._bounds = None if var_to_bounds is None else self._flat_bounds(var_to_bounds)
        self._gradient = self._flat_gradient(loss)
        self._slopes = [self._flat_gradient(one) for _, one in self._constraints]
        self._values = tf.concat([tf.reshape(var.value(), [-1]) for var in self._vars], 0)
        sizes = [int(np.prod(var.shape.as_list())) for var in self._vars]
        self._ends = np.cumsum([0, *sizes])
        self._given = [tf.placeholder(var.dtype.base_dtype, var.shape) for var in self._vars]
        pairs = zip(self._vars, self._given, strict=True)
        self._assigned = tf.group(*(var.assign(value) for var, value in pairs))

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Change the variables until the function ends.

        Args:
            session: the session; the default one if omitted.
            feed_dict: values for the loss.
            fetches: what ``loss_callback`` is called with.
            step_callback: called with the vector of all values after each step.
            loss_callback: called with the fetches for each value of the loss.
            **run_kwargs: further arguments of ``session.run``.
        """
        session = session or tf.get_default_session()
        feeds, extra = dict(feed_dict or {}), list(fetches or [])

        def evaluated(tensors: Sequence[Any], callback: Callable[..., Any] | None = None) -> Any:
            def at(x: Any) -> Any:
                session.run(self._assigned, self._parts(x), **run_kwargs)
                values = session.run([*tensors, extra] if callback else tensors, feeds, **run_kwargs)
                if callback:
                    callback(*values.pop())
                return [np.asarray(value, np.float64) for value in values]

            return at

        loss = evaluated([self._loss, self._gradient], loss_callback)
        constraints = []
        for (kind, value), slope in zip(self._constraints, self._slopes, strict=True):
            level, steepness = evaluated([value]), evaluated([slope])
            constraints.append(
                {"type": kind, "fun": lambda x, at=level: at(x)[0], "jac": lambda x, at=steepness: at(x)[0]}
            )
        start = session.run(self._values, **run_kwargs)
        end = self._minimize(
            initial_val=np.asarray(start, np.float64),
            loss_grad_func=loss,
            constraints=constraints,
            bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        session.run(self._assigned, self._parts(end), **run_kwargs)

    def _minimize(self, **how: Any) -> Any:
        raise NotImplementedError("To use ExternalOptimizerInterface, subclass from it and implement _minimize")

    def _flat_gradient(self, value: Any) -> Any:
        grads = tf.gradients(value, self._vars)
        return tf.concat(
            [
                tf.reshape(tf.zeros_like(var.value()) if grad is None else tf.convert_to_tensor(grad), [-1])
                for var, grad in zip(self._vars, grads, strict=True)
            ],
            0,
        )

    def _flat_bounds(self, by_variable: Mapping[Any, Any]) -> list[tuple[float, float]]:
        bounds = []
        for var in self._vars:
            shape = var.shape.as_list()
            low, high = by_variable.get(var, (-np.inf, np.inf))
            lows, highs = (np.broadcast_to(bound, shape).ravel() for bound in (low, high))
            bounds += list(zip(lows, highs, strict=True))
        return bounds

    def _parts(self, x: Any) -> dict[Any, Any]:
        return {
            variable: np.asarray(x[start:end]).reshape(variable.shape.as_list())
            for variable, start, end in zip(self._given, self._ends[:-1], self._ends[1:], strict=True)
        }


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Optimises with ``scipy.optimize.minimize`` (the ``scipy`` extra), by ``L-BFGS-B`` without a method.

    The arguments are those of ``ExternalOptimizerInterface``; ``options`` and ``method`` are scipy's.
    """

    def _minimize(self, **how: Any) -> Any:
        require("scipy", "scipy", "tf.contrib.opt.ScipyOptimizerInterface needs scipy")
        scipy: Any = importlib.import_module("scipy.optimize")
        options = dict(how["optimizer_kwargs"])
        method = options.pop("method", "L-BFGS-B")
        if how["constraints"]:
            options["constraints"] = how["constraints"]
        if how["bounds"] is not None:
            options["bounds"] = how["bounds"]
        optimum = scipy.minimize(
            how["loss_grad_func"], how["initial_val"], jac=True, method=method, callback=how["step_callback"], **options
        )
        tf.logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %s",
            optimum.message,
            optimum.fun,
            getattr(optimum, "nit", "-"),
            optimum.nfev,
        )
        return optimum.x
