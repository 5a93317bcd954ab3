"""``SyncReplicasOptimizer``: the gradients of several replicas are applied together.

Each replica adds its gradients to accumulators colocated with the variables, and waits at a queue of tokens.
A queue runner of the chief takes the mean of enough gradients, applies it with the given optimiser, and
enqueues a token for each replica. A token is the number of the step that has ended; gradients of older steps
are recognised by it and dropped. No thread of the runtime is blocked while replicas wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from actorsession.graph.device import DeviceSpec
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays.fills import fill
from actorsession.ops.elements.cast import cast
from actorsession.ops.flow import control
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.queues.queues import FIFOQueue
from actorsession.ops.variables.lists import global_variables, report_uninitialized_variables
from actorsession.ops.variables.variable import Variable
from actorsession.opsets.accumulators.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from actorsession.train.optimizer import Optimizer, WrappingOptimizer
from actorsession.train.queue_runner import QueueRunner

__all__ = ["SyncReplicasOptimizer"]


class SyncReplicasOptimizer(WrappingOptimizer):
    """An optimiser that applies the mean gradients of several replicas with another optimiser.

    Args:
        opt: optimiser that computes and applies gradients.
        replicas_to_aggregate: number of gradients that make one update.
        total_num_replicas: number of replicas; ``replicas_to_aggregate`` if left out.
        variable_averages: an ``ExponentialMovingAverage`` to apply after each update.
        variables_to_average: the variables for it.
        use_locking: without effect: updates are atomic anyway.
        name: prefix of the operations.

    Attributes:
        chief_init_op: the operation that prepares the chief's local state; run before ``get_init_tokens_op``.
        local_step_init_op: the operation that prepares another replica's local state.
        ready_for_local_init_op: the names of uninitialised global variables; empty when replicas may begin.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Sequence[Variable] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(opt, name)
        if variable_averages is not None and not variables_to_average:
            raise ValueError("variable_averages need variables_to_average")
        self._replicas_to_aggregate = replicas_to_aggregate
        replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._total_num_replicas = replicas
        self._tokens_per_step = max(replicas, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._accumulators: list[tuple[ConditionalAccumulatorBase, str]] = []
        self._global_step: Variable | None = None
        self._tokens: FIFOQueue | None = None
        self._runner: QueueRunner | None = None
        self.chief_init_op: Operation | None = None
        self.local_step_init_op: Operation | None = None
        self.ready_for_local_init_op: Tensor | None = None

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Build a replica's step: add the gradients to the accumulators, and wait until they were applied.

        Args:
            grads_and_vars: pairs as returned by ``compute_gradients``.
            global_step: variable that counts the updates; required.
            name: wanted name.

        Returns:
            The operation of the replica's step.

        Raises:
            ValueError: without gradients or global step.
        """
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError("Must supply at least one variable with a gradient")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        graph = global_step.graph
        with graph.as_default():
            return self._build(pairs, global_step, name)

    def _build(self, pairs: list[tuple[Any, Variable]], step: Variable, name: str | None) -> Operation:
        graph = step.graph
        # The step of a replica stays with the replica, also where variables go to parameter servers.
        with graph.colocate_with(control.no_op()):
            local_step = Variable(
                0,
                trainable=False,
                name="sync_rep_local_step",
                dtype=step.dtype,
                collections=[GraphKeys.LOCAL_VARIABLES],
            )
        with graph.device(_cpu_of(step)):
            self.local_step_init_op = local_step.assign(step.value(), read_value=False)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        chief = [self.local_step_init_op]
        with graph.name_scope(self._name):
            applied, means = self._accumulate(pairs, local_step)
        update = self._opt.apply_gradients(list(zip(means, [var for _, var in pairs], strict=True)), step)
        with graph.device(_cpu_of(step)), graph.name_scope(""):
            tokens = self._tokens = FIFOQueue(
                -1, step.dtype, shapes=[[]], shared_name="sync_token_q", name="sync_token_q"
            )
        with graph.device(_cpu_of(step)), graph.control_dependencies(applied):
            token = tokens.dequeue()
        train_op: Operation = local_step.assign(token, read_value=False, name=name)
        with graph.control_dependencies([update]):
            sync = tokens.enqueue_many([fill([self._tokens_per_step], step.read_value())])
        if self._variable_averages is not None:
            with graph.control_dependencies([sync]):
                sync = self._variable_averages.apply(self._variables_to_average)
        self._runner = QueueRunner(tokens, [sync])
        # Its loop waits for gradients, which need not come any more when training stops.
        self._runner.stop_grace = 0.0
        for accumulator, device in self._accumulators:
            with graph.device(device):
                chief.append(accumulator.set_global_step(cast(step.value(), int64)))
        self.chief_init_op = control.group(*chief)
        return train_op

    def _accumulate(self, pairs: list[tuple[Any, Variable]], local_step: Variable) -> tuple[list[Operation], list[Any]]:
        """Build accumulators; return the operations that add gradients, and the means taken from them."""
        graph = local_step.graph
        applied, means = [], []
        for grad, var in pairs:
            with graph.device(var.device):
                accumulator: Any
                shared = f"{var.name}/grad_accum"
                kind = SparseConditionalAccumulator if isinstance(grad, IndexedSlices) else ConditionalAccumulator
                accumulator = kind(grad.dtype, shape=var.shape, shared_name=shared)
                stamp = cast(local_step.value(), int64)
                count = self._replicas_to_aggregate
                if isinstance(grad, IndexedSlices):
                    applied.append(accumulator.apply_indexed_slices_grad(grad, stamp))
                    means.append(accumulator.take_indexed_slices_grad(count))
                else:
                    applied.append(accumulator.apply_grad(grad, stamp))
                    means.append(accumulator.take_grad(count))
                self._accumulators.append((accumulator, var.device))
        return applied, means

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the runner that applies gradients and enqueues tokens; the chief starts it.

        Raises:
            ValueError: before ``apply_gradients``.
        """
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return the operation that puts the first tokens into the queue; the chief runs it once.

        Args:
            num_tokens: number of tokens; ``replicas_to_aggregate`` if -1.

        Raises:
            ValueError: before ``apply_gradients``, or for so few tokens that no replica could begin.
        """
        if self._tokens is None or self._global_step is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        graph = self._global_step.graph
        with graph.as_default(), graph.device(_cpu_of(self._global_step)):
            if num_tokens <= 0:
                return control.no_op(name="no_init_tokens")
            tokens = fill([num_tokens], self._global_step.value())
            return self._tokens.enqueue_many([tokens])


def _cpu_of(variable: Variable) -> str:
    """Return the task of a variable, on any of its CPUs."""
    device = variable.device
    if not device:
        return ""
    return str(replace(DeviceSpec.parse(device), device_type="CPU", device_index=None))
