"""``tf.saved_model.signature_def_utils``: signatures of a graph's computations, as messages for serving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actorsession.compat.v1.saved_model import signature_constants as keys
from actorsession.compat.v1.saved_model.tensor_infos import build_tensor_info
from actorsession.config.file_roots import path_text
from actorsession.graph.dtypes import as_dtype, float32, string
from actorsession.interop import make_tensor_proto
from actorsession.interop.meta_protos import SignatureDef, TensorInfo
from actorsession.interop.saved_models import read_saved_model, write_saved_model

__all__ = [
    "MethodNameUpdater",
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> SignatureDef:
    """Return a signature with inputs and outputs from ``build_tensor_info``.

    Args:
        inputs: the inputs, by key.
        outputs: the outputs, by key.
        method_name: the serving method, such as ``PREDICT_METHOD_NAME``.
        defaults: default values of inputs, by key.
    """
    signature = SignatureDef()
    for field, infos in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for key, info in (infos or {}).items():
            field[key].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    for key, value in (defaults or {}).items():
        signature.defaults[key].CopyFrom(make_tensor_proto(value))
    return signature


def predict_signature_def(inputs: Any, outputs: Any) -> SignatureDef:
    """Return a signature for an arbitrary computation.

    Args:
        inputs: the feeds, by key.
        outputs: the fetches, by key.

    Raises:
        ValueError: if there are no inputs or no outputs.
    """
    for name, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"Prediction `{name}` cannot be None or empty.")
    ins, outs = ({key: build_tensor_info(tensor) for key, tensor in tensors.items()} for tensors in (inputs, outputs))
    return build_signature_def(ins, outs, keys.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """Return a signature of a computation of one number per serialised example.

    Args:
        examples: the examples, a tensor of strings.
        predictions: the numbers, float32.

    Raises:
        ValueError: if an argument is missing or has another type.
    """
    if examples is None:
        raise ValueError("Regression `examples` cannot be None.")
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    asked, regressed = build_tensor_info(examples), build_tensor_info(predictions)
    _check(asked, string, "Regression input tensors must be of type string. Found tensors with")
    _check(regressed, float32, "Regression output tensors must be of type float. Found tensors with")
    return build_signature_def(
        {keys.REGRESS_INPUTS: asked}, {keys.REGRESS_OUTPUTS: regressed}, keys.REGRESS_METHOD_NAME
    )


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """Return a signature of a computation of the possible classes of each serialised example.

    Args:
        examples: the examples, a tensor of strings.
        classes: the names of classes, strings; ``None`` for no such output.
        scores: the scores of the classes, float32; ``None`` for no such output.

    Raises:
        ValueError: if both outputs or the examples are missing, or an argument has another type.
    """
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    asked = build_tensor_info(examples)
    _check(asked, string, "Classification input tensors must be of type string. Found tensors of")
    outputs = {}
    if classes is not None:
        outputs[keys.CLASSIFY_OUTPUT_CLASSES] = build_tensor_info(classes)
        said = "Classification classes must be of type string Tensor. Found tensors of"
        _check(outputs[keys.CLASSIFY_OUTPUT_CLASSES], string, said)
    if scores is not None:
        outputs[keys.CLASSIFY_OUTPUT_SCORES] = build_tensor_info(scores)
        said = "Classification scores must be a float Tensor. Found tensors of"
        _check(outputs[keys.CLASSIFY_OUTPUT_SCORES], float32, said)
    return build_signature_def({keys.CLASSIFY_INPUTS: asked}, outputs, keys.CLASSIFY_METHOD_NAME)


def _check(info: TensorInfo, dtype: Any, words: str) -> None:
    if info.dtype != dtype.as_datatype_enum:
        raise ValueError(f"{words} type {as_dtype(info.dtype).name}.")


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Return whether a signature is valid for its serving method."""
    if signature_def is None:
        return False
    types = [
        {key: info.dtype for key, info in infos.items()} for infos in (signature_def.inputs, signature_def.outputs)
    ]
    text, number = string.as_datatype_enum, float32.as_datatype_enum
    if signature_def.method_name == keys.PREDICT_METHOD_NAME:
        return all(types)
    if signature_def.method_name == keys.REGRESS_METHOD_NAME:
        return types == [{keys.REGRESS_INPUTS: text}, {keys.REGRESS_OUTPUTS: number}]
    if signature_def.method_name == keys.CLASSIFY_METHOD_NAME:
        known = {keys.CLASSIFY_OUTPUT_CLASSES: text, keys.CLASSIFY_OUTPUT_SCORES: number}
        return types[0] == {keys.CLASSIFY_INPUTS: text} and bool(types[1]) and types[1].items() <= known.items()
    return False


class MethodNameUpdater:
    """Changes the names of methods in the signatures of a saved model.

    Args:
        export_dir: the folder of the model.

    Raises:
        OSError: if there is no model.
    """

    def __init__(self, export_dir: Any) -> None:
        self._folder = path_text(export_dir, "export_dir")
        self._model = read_saved_model(self._folder)

    def replace_method_name(
        self, signature_key: str, method_name: str, tags: Iterable[str] | str | None = None
    ) -> None:
        """Change the name of a signature's method, in the graphs that have the tags.

        Args:
            signature_key: the key of the signature.
            method_name: the new name.
            tags: the tags of a graph; all graphs if omitted.

        Raises:
            ValueError: for an empty key or name, and if no graph has the tags and the signature.
        """
        if not signature_key or not method_name:
            raise ValueError("`signature_key` and `method_name` must be defined.")
        asked = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
        graphs = [graph for graph in self._model.meta_graphs if asked is None or set(graph.meta_info_def.tags) == asked]
        if not graphs:
            raise ValueError(f"MetaGraphDef associated with tags {tags!r} could not be found.")
        for graph in graphs:
            if signature_key not in graph.signature_def:
                known = ", ".join(sorted(graph.signature_def)) or "none"
                raise ValueError(f"no signature {signature_key!r} found; there are {known}")
            graph.signature_def[signature_key].method_name = method_name

    def save(self, new_export_dir: Any = None) -> None:
        """Write the model.

        Args:
            new_export_dir: the folder; that of the model if omitted. The values of variables are not copied.
        """
        write_saved_model(self._model, new_export_dir or self._folder)
