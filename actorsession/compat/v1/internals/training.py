"""What programs use of TensorFlow's modules for training, beside the names of ``tf.train``."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.contrib.training import StopAfterNEvalsHook as _StopAfterNEvalsHook
from actorsession.compat.v1.contrib.training import evaluate_once as _evaluate_once
from actorsession.compat.v1.contrib.training import get_or_create_eval_step as _get_or_create_eval_step
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.summary.writers import FileWriterCache as SummaryWriterCache
from actorsession.compat.v1.train.checkpoints.management import meta_graph_filename
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.session_layers import CoordinatedSession as _CoordinatedSession
from actorsession.compat.v1.train.session_layers import HookedSession as _HookedSession
from actorsession.compat.v1.train.session_layers import RecoverableSession as _RecoverableSession
from actorsession.compat.v1.train.session_layers import WrappedSession as _WrappedSession
from actorsession.ops import GraphKeys
from actorsession.train import get_or_create_global_step
from actorsession.train.device_setter import STATE_OPS as STANDARD_PS_OPS
from actorsession.train.subclassing import slot_key as _var_key

__all__ = [
    "GLOBAL_STEP_READ_KEY", "STANDARD_PS_OPS", "MetricKeys", "PredictionKeys", "SummaryWriterCache",
    "_CoordinatedSession", "_HookedSession", "_RecoverableSession", "_RoundRobinStrategy",
    "_StopAfterNEvalsHook", "_WrappedSession", "_as_graph_element", "_as_original_type",
    "_as_tensor_list", "_evaluate_once", "_get_or_create_eval_step",
    "_get_or_create_global_step_read", "_get_saver_or_default", "_increment_global_step",
    "_var_key", "meta_graph_filename",
]  # fmt: skip

GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


class PredictionKeys:
    """Keys of the predictions of ready models."""

    CLASSES, CLASS_IDS, LOGISTIC, LOGITS = "classes", "class_ids", "logistic", "logits"
    PREDICTIONS, PROBABILITIES, TOP_K = "predictions", "probabilities", "top_k"
    ALL_CLASSES, ALL_CLASS_IDS = "all_classes", "all_class_ids"


class MetricKeys:
    """Names of the metrics of ready models."""

    LOSS, LOSS_MEAN, LOSS_REGULARIZATION = "loss", "average_loss", "regularization_loss"
    ACCURACY, PRECISION, RECALL, AUC = "accuracy", "precision", "recall", "auc"
    ACCURACY_BASELINE, AUC_PR = "accuracy_baseline", "auc_precision_recall"
    LABEL_MEAN, PREDICTION_MEAN = "label/mean", "prediction/mean"


def _get_or_create_global_step_read(graph: Any = None) -> Any:
    """Return the value of the global step before the step changes it.

    Args:
        graph: the graph; the default graph if omitted.
    """
    graph = get_default_graph() if graph is None else graph
    there = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if there:
        return there[0]
    with graph.as_default(), graph.control_dependencies(None):
        read = get_or_create_global_step(graph).read_value() + 0
    graph.add_to_collection(GLOBAL_STEP_READ_KEY, read)
    return read


def _get_saver_or_default() -> Saver:
    """Return the saver of the default graph, or make one.

    Raises:
        RuntimeError: if the graph has several.
    """
    graph = get_default_graph()
    savers = graph.get_collection(GraphKeys.SAVERS)
    if len(savers) > 1:
        raise RuntimeError(
            "More than one item in collection SAVERS. Please indicate which one to use by passing it to the "
            "constructor."
        )
    if savers:
        saver: Saver = savers[0]
        return saver
    new = Saver(sharded=True, allow_empty=True)
    graph.add_to_collection(GraphKeys.SAVERS, new)
    return new


def _increment_global_step(increment: int, graph: Any = None) -> Any:
    """Return the global step after it was incremented.

    Args:
        increment: by how much.
        graph: the graph; the default graph if omitted.
    """
    graph = get_default_graph() if graph is None else graph
    with graph.as_default():
        return get_or_create_global_step(graph).assign_add(increment)


def _as_graph_element(obj: Any) -> Any:
    """Return the tensor or operation of an object or a name.

    Args:
        obj: the object.
    """
    graph = get_default_graph()
    if isinstance(obj, str) and ":" not in obj:
        obj = f"{obj}:0"
    return graph.as_graph_element(obj)


def _as_tensor_list(tensors: Any) -> Any:
    """Return the values of a dictionary in the order of its keys as text; anything else as it is."""
    return [tensors[key] for key in sorted(tensors, key=str)] if isinstance(tensors, dict) else tensors


def _as_original_type(original_tensors: Any, tensor_list: Any) -> Any:
    """Return values in the form of what ``_as_tensor_list`` took."""
    if not isinstance(original_tensors, dict):
        return tensor_list
    values = [tensor_list] if len(original_tensors) == 1 else tensor_list
    return dict(zip(sorted(original_tensors, key=str), values, strict=False))


class _RoundRobinStrategy:
    """Tasks in turn, for the operations that a device setter places.

    Args:
        num_tasks: how many tasks there are.
    """

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        """Return the task of the next operation."""
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task
