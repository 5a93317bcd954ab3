"""What is said of a name of TensorFlow 1 that is not here: the reason, or what may have been meant."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from actorsession.compat import found_keras
from actorsession.lazy_names import NoAttributeError

__all__ = ["explain", "reason_for", "saying_why"]

_TARGET = "actorsession.compat.v1"
_PARTS = ("python", "core", "examples")

# By dotted name, for it and all that it holds.
_REASONS = {
    "compat.v2": "this is TensorFlow 1; programs for TensorFlow 2 are not run",
    "enable_v2_behavior": "this is TensorFlow 1; programs for TensorFlow 2 are not run",
    "GradientTape": "it belongs to eager execution; tf.gradients differentiates graphs",
    "contrib.eager": "operations run in graphs and sessions alone; there is no eager execution",
    "distribute": "there are no strategies; tf.train.replica_device_setter and tf.train.SyncReplicasOptimizer"
    " spread training over tasks",
    "contrib.distribute": "there are no strategies; tf.train.replica_device_setter and "
    "tf.train.SyncReplicasOptimizer spread training over tasks",
    "contrib.tpu": "there are no TPUs",
    "tpu": "there are no TPUs",
    "contrib.tensorrt": "it needs NVIDIA's TensorRT",
    "contrib.lite": "models for phones are converted by TensorFlow Lite",
    "lite": "models for phones are converted by TensorFlow Lite",
    "contrib.quantize": "graphs are not rewritten; tf.quantization has the operations",
    "contrib.slim.nets": "its networks are programs over slim, in the repository tensorflow/models",
    "contrib.slim.python.slim.nets": "its networks are programs over slim, in the repository tensorflow/models",
    "contrib.gan": "it became the package tf_gan; its losses and loops are programs over tf",
    "contrib.bayesflow": "it became the package tensorflow_probability",
    "contrib.kfac": "it became the package kfac",
    "contrib.cudnn_rnn": "cuDNN's kernels run on NVIDIA's devices alone; CudnnCompatibleLSTMCell and "
    "CudnnCompatibleGRUCell compute the same with the variables that its layers save",
    "contrib.timeseries": "it was removed with TensorFlow 1; an Estimator of your own takes its place",
    "contrib.tensor_forest": "forests are no graphs of tensors",
    "contrib.boosted_trees": "forests are no graphs of tensors",
    "contrib.cloud": "buckets of clouds are not read; use files",
    "contrib.ffmpeg": "sound is decoded by other programs",
    "contrib.nccl": "collectives need no library of their own: tf.raw_ops has them",
    **dict.fromkeys(
        ("autograph.to_graph", "autograph.to_code", "contrib.autograph.convert"),
        "functions are not rewritten; tf.cond and tf.while_loop are called by name",
    ),
    "ragged": "ragged tensors came with TensorFlow 2",
    "RaggedTensor": "ragged tensors came with TensorFlow 2",
    "experimental": "the experimental names of TensorFlow 2 are not here",
    "load_op_library": (
        "kernels of shared libraries are compiled for TensorFlow itself; an operation in Python is "
        "registered with actorsession.extend"
    ),
    "load_library": (
        "kernels of shared libraries are compiled for TensorFlow itself; an operation in Python is "
        "registered with actorsession.extend"
    ),
    "python.pywrap_tensorflow_internal": "there is no library in C++ behind this",
    "python._pywrap_tensorflow_internal": "there is no library in C++ behind this",
    "python.debug": "values are kept in directories or shown at a prompt; no server receives them",
    "python.ops.summary_ops_v2": "summaries are operations of tf.summary, and FileWriter writes them",
    "python.distribute": "there are no strategies; tf.train.replica_device_setter and "
    "tf.train.SyncReplicasOptimizer spread training over tasks",
    "python.eager": "operations run in graphs and sessions alone; there is no eager execution",
}


# What names of TensorFlow before 1.0 became.
_RENAMED = {
    "audio_summary": "summary.audio", "batch_cholesky": "cholesky",
    "batch_fft": "fft", "batch_matrix_band_part": "matrix_band_part", "batch_matrix_diag": "matrix_diag",
    "batch_matrix_inverse": "matrix_inverse", "batch_matrix_solve": "matrix_solve",
    "batch_matrix_transpose": "matrix_transpose", "batch_self_adjoint_eig": "self_adjoint_eig",
    "batch_svd": "svd", "complex_abs": "abs", "concat_v2": "concat", "histogram_summary": "summary.histogram",
    "image_summary": "summary.image", "inv": "reciprocal", "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all", "merge_summary": "summary.merge",
    "nn.rnn_cell.linear": "layers.dense", "scalar_summary": "summary.scalar", "select": "where",
    "train.SummaryWriter": "summary.FileWriter",
}  # fmt: skip


def reason_for(name: str) -> str | None:
    """Return why a name, or a module that holds it, is not here; ``None`` if that is nowhere said.

    Args:
        name: a dotted name without ``tensorflow`` in front.
    """
    if name in _RENAMED:
        return f"since TensorFlow 1.0 it is tf.{_RENAMED[name]}"
    if found_keras.reach(name) is not None:
        return found_keras.missing_because()
    while name:
        if name in _REASONS:
            return _REASONS[name]
        name = name.rpartition(".")[0]
    return None


def saying_why(load: Callable[[str], Any], module: str = "") -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` whose errors have the reasons of names that are absent.

    Args:
        load: the ``__getattr__`` without them.
        module: the module's name in TensorFlow; "" for ``tf`` itself.
    """

    def find(name: str) -> Any:
        try:
            return load(name)
        except AttributeError as exc:
            reason = reason_for(f"{module}.{name}".lstrip("."))
            if reason is None:
                raise
            raise AttributeError(f"{exc.args[0]}: {reason}", name=name) from None

    return find


def explain(module: Sequence[str], name: str, holder: object) -> str:
    """Return what to say of a name that does not exist.

    Args:
        module: the parts of the module's name, without ``tensorflow``.
        name: the name.
        holder: the module or class of ours in which it was looked up.
    """
    full = ".".join([*module, name])
    said = f"tensorflow has no {full} here"
    if reason := reason_for(full):
        return f"{said}: {reason}"
    meant = list(dict.fromkeys([*_elsewhere(name), *_alike(module, name, holder)]))[:3]
    return f"{said}; did you mean {', '.join(_written(m) for m in meant)}?" if meant else said


def _written(name: str) -> str:
    """A name as a program writes it."""
    return f"{'tensorflow' if name.partition('.')[0] in _PARTS else 'tf'}.{name}"


def _alike(module: Sequence[str], name: str, holder: object) -> Iterable[str]:
    """Names of the same module that are like it, or else of ``tf`` itself and its modules."""
    tf: Any = importlib.import_module(_TARGET)
    places: list[tuple[list[str], object]] = [(list(module), holder)]
    if module[:1] not in (["contrib"], *([part] for part in _PARTS)):
        places.append(([], tf))
    for where, inside in places:
        names = [member for member in dir(inside) if not member.startswith("_")]
        rooms = {room: getattr(tf, room).__name__ for room in _rooms(tf)} if inside is tf else {}
        if near := NoAttributeError(".".join(where), name, names, rooms).meant:
            return [".".join([*where, member]) for member in near]
    return []


def _elsewhere(name: str) -> Iterable[str]:
    """The same name, in ``tf`` or in one of its modules."""
    tf: Any = importlib.import_module(_TARGET)
    if name in tf.__all__:
        yield name
    for room in _rooms(tf):
        if name in getattr(getattr(tf, room), "__all__", ()):
            yield f"{room}.{name}"


def _rooms(tf: Any) -> list[str]:
    rooms = [names.removeprefix("*=") for names in tf._NAMES.values() if names.startswith("*=")]
    return sorted(room for room in rooms if room.isidentifier() and room not in _PARTS)
