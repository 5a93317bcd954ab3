"""Exporters: objects that ``train_and_evaluate`` calls after evaluations to write SavedModels."""

from __future__ import annotations

import abc
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.compat.v1.logging import get_logger

__all__ = ["BestExporter", "Exporter", "FinalExporter", "LatestExporter"]

_log = get_logger()


class Exporter(abc.ABC):
    """An object with a name that writes a model."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Its name, which is that of the folder of its exports."""

    @abc.abstractmethod
    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Write a model, and return the path; ``None`` if nothing is to be written.

        Args:
            estimator: the estimator.
            export_path: the folder of the exports.
            checkpoint_path: the checkpoint that was evaluated.
            eval_result: its metrics.
            is_the_final_export: whether training has ended.
        """


class _SavedModels(Exporter):
    """An exporter that writes SavedModels.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: makes the inputs of the exported model.
        assets_extra: further files.
        as_text: whether to write graphs in the text form.

    Raises:
        ValueError: without a name.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
    ) -> None:
        if not name:
            raise ValueError('"name" argument should be non-empty.')
        self._name = name
        self._arguments = (serving_input_receiver_fn, assets_extra, as_text)

    @property
    def name(self) -> str:
        """Name of the folder of the exports."""
        return self._name

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Write a SavedModel, and return its path."""
        return estimator.export_saved_model(export_path, *self._arguments, checkpoint_path)


class FinalExporter(_SavedModels):
    """An exporter that writes the model once, when training has ended; arguments as for ``_SavedModels``."""

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Write the model if training has ended."""
        if not is_the_final_export:
            return None
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)


class LatestExporter(_SavedModels):
    """An exporter that writes the model after each evaluation, and keeps the latest.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: makes the inputs of the exported model.
        assets_extra: further files.
        as_text: whether to write graphs in the text form.
        exports_to_keep: how many exports are kept; all if ``None``.

    Raises:
        ValueError: for a number that is not positive.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be a positive number. Got 0.")
        self._keep = exports_to_keep

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Write the model, and remove the oldest exports."""
        path = super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)
        if self._keep is not None and os.path.isdir(export_path):
            stamps = sorted((name for name in os.listdir(export_path) if name.isdigit()), key=int)
            for name in stamps[: -self._keep]:
                shutil.rmtree(os.path.join(export_path, name))
        return path


def _smaller_loss(best_eval_result: Any, current_eval_result: Any) -> bool:
    """Return whether the loss is smaller than the best one so far."""
    return bool(current_eval_result["loss"] < best_eval_result["loss"])


class BestExporter(LatestExporter):
    """An exporter that writes the model after each evaluation that is the best so far.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: makes the inputs of the exported model.
        event_file_pattern: accepted for compatibility; the best result is that of this program.
        compare_fn: returns whether the second result is better than the first; the smaller loss, if omitted.
        assets_extra: further files.
        as_text: whether to write graphs in the text form.
        exports_to_keep: how many exports are kept.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = None,
        compare_fn: Callable[[Any, Any], bool] = _smaller_loss,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._is_better = compare_fn
        self._best: Any = None

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        """Write the model if its result is the best."""
        if self._best is not None and not self._is_better(self._best, eval_result):
            return None
        self._best = eval_result
        _log.info("Performing best model export.")
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)
