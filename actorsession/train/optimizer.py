"""The common base of optimisers: from a loss to one operation that trains.

Owns ``Optimizer``: building gradients, slots, the scopes and devices of the update operations, and the global
step. A concrete optimiser defines its slots and the op that applies a gradient.

Slots and updates are colocated with their variable, so that with variables on parameter servers only
gradients are transferred. Slots are created once per variable and optimiser and reused by later calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph, get_default_graph, name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays import dimensions, fills
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.elements.cast import cast
from actorsession.ops.flow import control
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, to_dense
from actorsession.ops.variables.get_variable import get_variable
from actorsession.ops.variables.initializers import constant_initializer, zeros_initializer
from actorsession.ops.variables.scope import variable_scope
from actorsession.ops.variables.settings import VariableScope
from actorsession.ops.variables.variable import Variable
from actorsession.records import description
from actorsession.train.slot_names import mark_as_part, name_beside
from actorsession.train.subclassing import Subclassing, slot_key

__all__ = ["Optimizer", "WrappingOptimizer"]


class Optimizer(Subclassing):
    """Base class of optimisers.

    A subclass overrides ``_apply_dense`` and, where needed, ``_prepare``, ``_create_slots``,
    ``_apply_sparse``, which receives each row once, and ``_finish``.

    Args:
        use_locking: without effect: updates are atomic anyway.
        name: name of the optimiser, used for its scope and slots.
        use_own_namescope_for_non_slot_vars: whether variables that are no slots are in a scope of that name.

    Raises:
        ValueError: if the name is empty.
    """

    GATE_NONE: ClassVar[int] = 0
    GATE_OP: ClassVar[int] = 1
    GATE_GRAPH: ClassVar[int] = 2

    def __init__(self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False) -> None:
        if not name:
            raise ValueError("an optimiser needs a name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Variable]] = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}
        self._own_scope: VariableScope | None = None
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, default_name=name) as self._own_scope:
                pass

    def __repr__(self) -> str:
        said = {
            key: getattr(self, f"_{key}", None)
            for key in inspect.signature(type(self)).parameters
            if key not in ("name", "use_locking")
        }
        return description(self, self._name, **said)

    def get_name(self) -> str:
        """Return the name given to the optimiser."""
        return self._name

    # -- public methods ------------------------------------------------------------------------

    def minimize(
        self,
        loss: Tensor | Callable[[], Any],
        global_step: Variable | None = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """Build one training step: ``compute_gradients`` and ``apply_gradients`` together.

        Args:
            loss: the tensor to minimise, or a function that builds it.
            global_step: a variable to count up after the update.
            var_list: the variables to change, one of them or a structure; the trainable ones of the graph if
                left out.
            gate_gradients: with ``GATE_GRAPH`` no gradient is used before all are computed; ``GATE_OP`` and
                ``GATE_NONE`` are the same here, because a value read from a variable never changes.
            aggregation_method: without effect.
            colocate_gradients_with_ops: whether gradients are colocated with their ops.
            name: wanted name of the operation.
            grad_loss: gradient of ``loss``; ones if left out.

        Returns:
            The operation that applies the update.

        Raises:
            ValueError: if no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        if all(grad is None for grad, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support "
                f"gradients, between variables {[v.name for _, v in pairs]} and loss {loss}: "
                "an operation between them may have no gradient, such as a cast to integers"
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Any],
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[SparseGradient | None, Variable]]:
        """Build the gradient of ``loss`` for each variable; arguments as for ``minimize``.

        The list may also contain tensors: their gradients can be computed, but not applied.

        Returns:
            Pairs of gradient and variable; the gradient is ``None`` where the loss does not depend on the
            variable, and for variables of integers or bools.

        Raises:
            ValueError: without variables, for an unknown ``gate_gradients``, or a loss that is no floating
                tensor.
            TypeError: if ``var_list`` holds something else.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients must be Optimizer.GATE_NONE, GATE_OP or GATE_GRAPH, got {gate_gradients!r}"
            )
        loss = convert_to_tensor(loss() if callable(loss) else loss)
        if not loss.dtype.is_floating:
            raise ValueError(f"the loss {loss!r} has dtype {loss.dtype.name}; it must have a floating-point type")
        variables = _variables_to_train(loss.graph, var_list)
        # Counters and flags among the variables are passed over: nothing is differentiated by an integer.
        smooth = [variable for variable in variables if variable.dtype.kind not in "biu"]
        # GATE_OP keeps TensorFlow's gradients of one op from racing with updates of the values that they
        # read. Here a value read from a variable never changes, so nothing needs to be gated, and unused
        # gradients (those of the inputs of the first layer) are not computed.
        derivatives = smooth and gradients(
            loss,
            smooth,
            grad_ys=grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            gate_gradients=False,
            aggregation_method=aggregation_method,
        )
        if gate_gradients == self.GATE_GRAPH and any(g is not None for g in derivatives):
            derivatives = control.tuple_(derivatives)
        rest = iter(derivatives)
        return [(next(rest) if v.dtype.kind not in "biu" else None, v) for v in variables]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Build the updates.

        Args:
            grads_and_vars: pairs as returned by ``compute_gradients``; those without a gradient are skipped.
            global_step: a variable to count up after the update.
            name: wanted name of the operation; the optimiser's own if left out.

        Returns:
            The operation that applies all updates.

        Raises:
            ValueError: if no pair has a gradient.
            TypeError: for a gradient that is no tensor, or something that is no variable.
            NotImplementedError: for a tensor in the place of a variable.
        """
        pairs = _with_gradients(list(grads_and_vars))
        graph = pairs[0][1].graph
        with graph.as_default():
            with graph.control_dependencies(None):
                self._create_slots([variable for _, variable in pairs])
            with graph.name_scope(name or self._name) as scope:
                self._prepare()
                updates = [self._update(graph, grad, variable) for grad, variable in pairs]
                train_op = self._train_op(graph, updates, scope, global_step)
        if train_op not in graph.get_collection(GraphKeys.TRAIN_OP):
            graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
        return train_op

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the slot ``name`` of a variable, or ``None`` if the optimiser made none."""
        return self._slots.get(name, {}).get(slot_key(var))

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots that the optimiser makes per variable, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Return the optimiser's own variables in the default graph, slots included, by name."""
        graph = get_default_graph()
        own = [slot for slots in self._slots.values() for slot in slots.values()]
        own.extend(self._non_slots.values())
        return sorted((v for v in own if v.graph is graph), key=lambda v: v.name)

    # -- one step ------------------------------------------------------------------------------

    def _update(self, graph: Graph, grad: SparseGradient, variable: Variable) -> Operation:
        with graph.colocate_with(variable.op), graph.name_scope(f"update_{variable.op.name}"):
            if isinstance(grad, IndexedSlices):
                update = self._update_of_rows(grad, variable)
            else:
                update = self._apply_dense(grad, variable)
            constraint = getattr(variable, "constraint", None)
            if constraint is None:
                return update
            with graph.control_dependencies([update]):
                kept: Operation = variable.assign(constraint(variable.read_value()), read_value=False)
            return kept

    def _train_op(self, graph: Graph, updates: list[Operation], scope: str, global_step: Variable | None) -> Operation:
        if global_step is None:
            return self._finish(updates, scope)
        one = convert_to_tensor(1, global_step.dtype, "one", graph=graph)
        # The step is incremented after everything else, so that all updates precede its new value.
        with graph.control_dependencies([self._finish(updates, "update")]):
            counted: Operation = global_step.assign_add(one, name=scope, read_value=False)
        return counted

    # -- overridden by subclasses --------------------------------------------------------------

    def _prepare(self) -> None:
        """Create the tensors of the hyperparameters."""

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Create the slots and other variables that the updates need."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        """Build the update of one variable, colocated with it."""
        update: Operation = self._resource_apply_dense(grad, var)
        return update

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        """Build the update for a gradient of some rows; by default the gradient is made dense first."""
        if grad.dense_shape is None:
            grad = IndexedSlices(grad.values, grad.indices, dimensions.shape(var.value()))
        return self._apply_dense(to_dense(grad), var)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        """Return one operation that groups all updates."""
        return control.group(*update_ops, name=name_scope)

    # -- used by subclasses --------------------------------------------------------------------

    def _tensor(self, value: Any, name: str) -> Tensor:
        """Return the tensor of a hyperparameter: a number, tensor, variable or function that returns one."""
        return convert_to_tensor(value() if callable(value) else value, name=name)

    def _like(self, value: Tensor | Variable, var: Variable) -> Tensor:
        """Return a hyperparameter in the dtype of the variable."""
        tensor = convert_to_tensor(value)
        return tensor if tensor.dtype is as_dtype(var.dtype) else cast(tensor, var.dtype)

    def _apply(self, op_type: str, var: Variable, inputs: Sequence[Any], **attrs: Any) -> Operation:
        """Add an update op; variables among ``inputs`` are passed as handles."""
        operands = [item.handle if isinstance(item, Variable) else item for item in inputs]
        return var.add_update(op_type, operands, use_locking=self._use_locking, **attrs)

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str | None = None) -> Variable:
        """Return the slot of a variable; create it with zeros, colocated with the variable, if it is missing.

        Args:
            var: the variable.
            slot_name: name of the slot for ``get_slot``.
            op_name: suffix of the slot variable's name; the optimiser's name if left out.
        """
        return self._filled_slot(var, slot_name, 0, op_name)

    def _filled_slot(self, var: Variable, slot_name: str, value: float, op_name: str | None = None) -> Variable:
        """Return the slot of a variable; create it filled with ``value`` if it is missing."""
        slots = self._slots.setdefault(slot_name, {})
        key = slot_key(var)
        if key not in slots:
            with var.graph.as_default(), var.graph.name_scope(None), var.graph.colocate_with(var.op):
                name = name_beside(var.op.name, op_name or self._name)
                slots[key] = _filled_beside(var, value, name)
                mark_as_part(slots[key], var)
        return slots[key]

    def _slot(self, var: Variable, slot_name: str) -> Variable:
        return self._slots[slot_name][slot_key(var)]

    def _non_slot_variable(self, initial_value: Any, name: str, beside: Variable) -> Variable:
        """Return a variable that is no slot, one per graph, on the device of ``beside``."""
        key = (name, beside.graph)
        if key not in self._non_slots:
            with beside.graph.colocate_with(beside.op):
                self._non_slots[key] = self._new_non_slot_variable(initial_value, name, beside._is_resource)
        return self._non_slots[key]

    def _new_non_slot_variable(self, initial_value: Any, name: str, is_resource: bool) -> Variable:
        if self._own_scope is None:
            return Variable(initial_value, trainable=False, name=name, use_resource=is_resource)
        value = initial_value() if callable(initial_value) else initial_value
        with name_scope(""), variable_scope(self._own_scope):
            variable: Variable = get_variable(name, initializer=value, trainable=False, use_resource=is_resource)
        return variable


class WrappingOptimizer(Optimizer):
    """An optimiser that leaves gradients, updates and slots to another one; subclasses act in between.

    Args:
        opt: the other optimiser.
        name: prefix of the operations.
    """

    def __init__(self, opt: Optimizer, name: str) -> None:
        super().__init__(use_locking=False, name=name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Return the gradients of the wrapped optimiser, with its arguments."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Build the updates of the wrapped optimiser, with its arguments."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return a slot of the wrapped optimiser."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots of the wrapped optimiser."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Variable]:
        """Return the variables of the wrapped optimiser."""
        return self._opt.variables()


def _filled_beside(var: Variable, value: float, name: str) -> Variable:
    if not var.shape.is_fully_defined():
        whole = fills.zeros_like(var.initial_value)
        if value:
            whole = whole + convert_to_tensor(value, var.dtype, graph=var.graph)
        return Variable(whole, trainable=False, validate_shape=False, name=name, use_resource=var._is_resource)
    first = constant_initializer(value, var.dtype) if value else zeros_initializer(var.dtype)
    make_first: Callable[[], Tensor] = lambda: first(var.shape)  # noqa: E731
    return Variable(
        make_first, trainable=False, name=name, dtype=var.dtype, shape=var.shape, use_resource=var._is_resource
    )


def _variables_to_train(graph: Graph, var_list: Any) -> list[Any]:
    """Return the variables to change, and tensors whose gradients can only be computed."""
    if var_list is None:
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
    else:
        variables = list(_leaves(var_list))
    if not variables:
        raise ValueError("there are no variables to train: the graph has no trainable variables, or var_list is empty")
    return variables


def _leaves(var_list: Any) -> Iterator[Variable | Tensor]:
    """Yield the leaves of a structure: a variable itself, or lists and dictionaries (by key) of them."""
    if isinstance(var_list, (Variable, Tensor)):
        yield var_list
    elif isinstance(var_list, Mapping):
        for key in sorted(var_list):
            yield from _leaves(var_list[key])
    elif isinstance(var_list, Iterable) and not isinstance(var_list, (str, bytes)):
        for item in var_list:
            yield from _leaves(item)
    else:
        raise TypeError(f"var_list must contain variables, got {type(var_list).__name__}: {var_list!r:.100}")


def _with_gradients(pairs: list[tuple[Any, Any]]) -> list[tuple[SparseGradient, Variable]]:
    if not pairs:
        raise ValueError("apply_gradients needs at least one pair of gradient and variable")
    with_gradients: list[tuple[SparseGradient, Variable]] = []
    for grad, variable in pairs:
        if grad is None:
            continue
        if isinstance(variable, Tensor):
            raise NotImplementedError(f"a tensor cannot be updated: {variable!r}")
        if not isinstance(variable, Variable):
            raise TypeError(f"expected a variable, got {type(variable).__name__}: {variable!r:.100}")
        if not isinstance(grad, IndexedSlices):
            grad = convert_to_tensor(grad, variable.dtype, graph=variable.graph)
        with_gradients.append((grad, variable))
    if not with_gradients:
        raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
    return with_gradients
