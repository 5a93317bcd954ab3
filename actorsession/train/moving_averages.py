"""Moving averages of variables and tensors, updated along with the training steps.

Owns ``ExponentialMovingAverage``. An average is an untrainable variable named after the averaged variable or
tensor, on the same device. Savers restore it in place of the variable through ``variables_to_restore``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorsession.graph.dtypes import float32
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements import arithmetic
from actorsession.ops.elements.cast import cast
from actorsession.ops.flow import control
from actorsession.ops.flow.control_flow import cond
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.initializers import zeros_initializer
from actorsession.ops.variables.variable import Variable
from actorsession.records import description
from actorsession.train.slot_names import mark_as_part, name_beside

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """Moving averages ``average = decay * average + (1 - decay) * value`` of variables and tensors.

    The average of a variable starts from the variable's value, that of a tensor from 0.

    Args:
        decay: close to 1: a number, tensor or variable.
        num_updates: number of updates so far; if given, the decay is at most
            ``(1 + num_updates) / (10 + num_updates)``, so that averages move faster in the beginning.
        zero_debias: whether averages of tensors are divided by ``1 - decay ** updates``, which removes the
            bias from their initial value 0.
        name: suffix of the names of averages.
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Variable | Tensor, Variable] = {}
        # For each debiased average: the plain average, and the number of updates.
        self._biased: dict[Variable, tuple[Variable, Variable]] = {}

    def __repr__(self) -> str:
        return description(
            self, self._name, decay=self._decay, num_updates=self._num_updates, variables=len(self._averages)
        )

    @property
    def name(self) -> str:
        """The suffix of the names of averages."""
        return self._name

    def apply(self, var_list: Iterable[Variable | Tensor] | None = None) -> Operation:
        """Build an operation that updates averages, and create the averages that do not exist yet.

        Args:
            var_list: floating variables and tensors; the trainable variables of the default graph if left
                out.

        Returns:
            The operation that updates all of them.

        Raises:
            TypeError: for something that is not floating.
        """
        values = list(_trainable() if var_list is None else var_list)
        for value in values:
            if not value.dtype.is_floating:
                raise TypeError(f"only values of floating-point types can be averaged, got {value!r}")
        graph = graph_of(*values)
        with graph.as_default():
            with graph.control_dependencies(None), graph.name_scope(None):
                for value in values:
                    if value not in self._averages:
                        self._averages[value] = self._start(value)
            with graph.name_scope(self._name) as scope:
                decay = self._tensor_of_decay()
                updates = [self._update(self._averages[v], v, decay) for v in values]
                return control.group(*updates, name=scope)

    def average(self, var: Variable | Tensor) -> Variable | None:
        """Return the average of a variable or tensor, or ``None`` if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Variable | Tensor) -> str:
        """Return the name that the average of a variable or tensor has, or would have."""
        if var in self._averages:
            return self._averages[var].op.name
        graph = var.graph
        return graph.unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Variable]:
        """Return the variables of the default graph by the names of their values in a checkpoint.

        Args:
            moving_avg_variables: variables that are restored from their averages; the trainable ones and
                those of the collection ``MOVING_AVERAGE_VARIABLES`` if left out.
        """
        graph = get_default_graph()
        if moving_avg_variables is None:
            collected = graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES)
            moving_avg_variables = [*_trainable(), *collected]
        averaged = dict.fromkeys(moving_avg_variables)
        by_name = {self.average_name(var): var for var in averaged}
        for var in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if var not in averaged and var.op.name not in by_name:
                by_name[var.op.name] = var
        return by_name

    # -- one average ---------------------------------------------------------------------------

    def _start(self, value: Variable | Tensor) -> Variable:
        name = name_beside(value.op.name, self._name)
        graph = value.graph
        if isinstance(value, Variable):
            variable = value
            with graph.colocate_with(variable.op):
                # A variable that is initialised by then, for example from a checkpoint, is averaged from its
                # value.
                first = cond(variable.is_initialized(), variable.read_value, lambda: variable.initial_value)
                first.set_shape(variable.shape)
                fixed = variable.shape.is_fully_defined()
                average = Variable(
                    first, trainable=False, name=name, validate_shape=fixed, use_resource=variable._is_resource
                )
            mark_as_part(average, variable)
            graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
            return average
        average = _zeros(value, name)
        if self._zero_debias:
            # As in TensorFlow, the scope is prepended to the name of the average once more.
            biased, count = (name_beside(average.op.name, e) for e in ("biased", "local_step"))
            with graph.colocate_with(average.op):
                updates = Variable(zeros_initializer(value.dtype)(()), trainable=False, name=count)
                self._biased[average] = (_zeros(value, biased), updates)
        return average

    def _tensor_of_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay, float32, name="decay")
        if self._num_updates is None:
            return decay
        seen = cast(self._num_updates, float32)
        return arithmetic.minimum(decay, (1.0 + seen) / (10.0 + seen))

    def _update(self, average: Variable, value: Variable | Tensor, decay: Tensor) -> Operation:
        graph = average.graph
        with graph.name_scope("AssignMovingAvg"), graph.colocate_with(average.op):
            moved = cast(1.0 - decay, average.dtype)
            now = value.value() if isinstance(value, Variable) else value
            if average not in self._biased:
                delta = (average.value() - now) * moved
                done: Operation = average.assign_sub(delta, read_value=False)
                return done
            biased, updates = self._biased[average]
            plain = biased.assign_sub((biased.value() - now) * moved)
            share = 1.0 - arithmetic.pow(1.0 - moved, updates.assign_add(1.0))
            debiased: Operation = average.assign(plain / share, read_value=False)
            return debiased


def _zeros(like: Tensor, name: str) -> Variable:
    """Return a variable of zeros for a tensor, whose shape must be known.

    Raises:
        ValueError: if the shape is not fully defined.
    """
    if not like.shape.is_fully_defined():
        raise ValueError(f"the shape of {like!r} must be known to average it")
    zeros = zeros_initializer(like.dtype)
    return Variable(lambda: zeros(like.shape), trainable=False, name=name, dtype=like.dtype, shape=like.shape)


def _trainable() -> Sequence[Variable]:
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
