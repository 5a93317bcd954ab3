"""``tf.contrib.learn.learn_runner``: runs what an experiment is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["argument_names", "run"]


def run(
    experiment_fn: Callable[..., Any],
    output_dir: Any = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Make an experiment and run one of its methods.

    Args:
        experiment_fn: a function of the folder, or of the settings and the hyperparameters.
        output_dir: the folder.
        schedule: name of the method; ``train_and_evaluate`` if omitted.
        run_config: the settings, instead of the folder.
        hparams: the hyperparameters.

    Returns:
        What the method returns.

    Raises:
        ValueError: for neither a folder nor settings, or a method that there is not.
    """
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    experiment = experiment_fn(output_dir) if run_config is None else experiment_fn(run_config, hparams)
    name = schedule or "train_and_evaluate"
    method = getattr(experiment, name, None)
    if not callable(method):
        raise ValueError(f"an experiment has no method {name!r}")
    return method()


def argument_names(function: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments of a function."""
    return set(inspect.signature(function).parameters)
