"""Saved models of estimators: the folder of an export, and the model in it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from actorsession.compat.v1.estimator.export import PredictOutput
from actorsession.compat.v1.estimator.specs import EstimatorSpec
from actorsession.compat.v1.gfile import Copy, MakeDirs, Rename
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.saved_model.builder import SavedModelBuilder
from actorsession.compat.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from actorsession.compat.v1.saved_model.tag_constants import SERVING
from actorsession.compat.v1.sessions.session import Session
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.session_creators import Scaffold
from actorsession.config.file_roots import path_text
from actorsession.ops import GraphKeys

__all__ = ["ExportFolder", "exported_folder", "write_model"]

_log = get_logger()


class ExportFolder(NamedTuple):
    """Where a model is exported.

    Attributes:
        path: the new folder.
        unfinished: the folder that becomes the new one when all is written.
    """

    path: str
    unfinished: str


@contextmanager
def exported_folder(base: Any, assets_extra: Mapping[str, Any] | None) -> Iterator[ExportFolder]:
    """Give a folder for a model, which has its name once the block has succeeded.

    Args:
        base: the folder in which it is made, named after the time.
        assets_extra: further files, from their paths below ``assets.extra`` to those that are copied.
    """
    base, stamp = path_text(base), int(time.time())
    # One that is taken may also be that of a killed export.
    while any(os.path.exists(os.path.join(base, f"{start}{stamp}")) for start in ("", "temp-")):
        stamp += 1
    folder = ExportFolder(os.path.join(base, str(stamp)), os.path.join(base, f"temp-{stamp}"))
    yield folder
    for target, source in (assets_extra or {}).items():
        copied = os.path.join(folder.unfinished, "assets.extra", os.fsdecode(target))
        MakeDirs(os.path.dirname(copied))
        Copy(os.fsdecode(source), copied)
    Rename(folder.unfinished, folder.path)


def write_model(
    folder: str, spec: EstimatorSpec, receiver: Any, checkpoint: str, session_config: Any, *, as_text: bool
) -> None:
    """Write the model of the default graph as a SavedModel.

    Args:
        folder: where to.
        spec: the model.
        receiver: what the function of serving inputs has returned.
        checkpoint: where the values of the variables are.
        session_config: settings of the session that reads them.
        as_text: whether to write the graph in the text form.
    """
    signatures = _signatures(spec, receiver)
    with Session(config=session_config) as session:
        saver = spec.scaffold.saver or Saver(allow_empty=True)
        first = spec.scaffold.local_init_op or Scaffold.default_local_init_op()
        saver.restore(session, checkpoint)
        builder = SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            session,
            [SERVING],
            signatures,
            assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
            main_op=first,
            saver=saver,
        )
        builder.save(as_text)


def _signatures(spec: EstimatorSpec, receiver: Any) -> dict[str, Any]:
    """Return the signatures of a model's outputs, without those that its inputs do not allow."""
    outputs = spec.export_outputs
    if outputs is None:
        outputs = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(spec.predictions)}
    signatures, refused = {}, {}
    for key, output in outputs.items():
        try:
            signatures[key] = output.as_signature_def(receiver.receiver_tensors)
        except ValueError as exc:
            refused[key] = str(exc)
    for key, inputs in (receiver.receiver_tensors_alternatives or {}).items():
        tensors = inputs if isinstance(inputs, Mapping) else {"input": inputs}
        for name, output in outputs.items():
            try:
                label = key if name == DEFAULT_SERVING_SIGNATURE_DEF_KEY else f"{key}:{name}"
                signatures[label] = output.as_signature_def(tensors)
            except ValueError as exc:
                refused[f"{key}:{name}"] = str(exc)
    for key, why in refused.items():
        _log.info("The signature %r is not exported: %s", key, why)
    if not signatures:
        raise ValueError(f"the model has no signature for these inputs: {refused}")
    return signatures
