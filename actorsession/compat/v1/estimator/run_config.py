"""``RunConfig``: where an estimator keeps its model, how often it saves, and its place in a cluster."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.compat.v1.train.clusters import ClusterSpec, task_of
from actorsession.config.file_roots import path_text
from actorsession.errors import RequestValueError
from actorsession.json_text import read_json_object

__all__ = ["RunConfig"]

_USE_DEFAULT = object()
_DEFAULT_SECONDS = 600
_CHIEF, _EVALUATOR, _MASTER, _PS, _WORKER = "chief", "evaluator", "master", "ps", "worker"

# The fields that ``replace`` accepts, as in TensorFlow.
_REPLACEABLE = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
    "checkpoint_save_graph_def",
)


class RunConfig:
    """The settings of an estimator.

    The cluster and the task are those of the environment variable ``TF_CONFIG``, a JSON object with
    ``cluster`` and ``task``; without it the program trains alone.

    Args:
        model_dir: the folder of checkpoints and summaries.
        tf_random_seed: the seed of the graph.
        save_summary_steps: steps between two summaries.
        save_checkpoints_steps: steps between two checkpoints.
        save_checkpoints_secs: seconds between two checkpoints; 600 if neither is given.
        session_config: settings of sessions.
        keep_checkpoint_max: how many checkpoints are kept.
        keep_checkpoint_every_n_hours: hours after which a checkpoint is kept for good.
        log_step_count_steps: steps between two log lines.
        train_distribute: ``None``; strategies of distribution are not here.
        device_fn: chooses the devices of operations; one for parameter servers, where there are some.
        protocol: accepted for compatibility.
        eval_distribute: ``None`` as well.
        experimental_distribute: ``None`` as well.
        experimental_max_worker_delay_secs: at most so many seconds pass between the starts of workers.
        session_creation_timeout_secs: how long workers wait for the chief.
        checkpoint_save_graph_def: whether the graph is written beside checkpoints.

    Raises:
        ValueError: for both intervals of checkpoints, a number out of range, or a wrong ``TF_CONFIG``.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _USE_DEFAULT,
        save_checkpoints_secs: Any = _USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
        checkpoint_save_graph_def: bool = True,
    ) -> None:
        if save_checkpoints_steps is _USE_DEFAULT and save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_steps, save_checkpoints_secs = None, _DEFAULT_SECONDS
        elif save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _USE_DEFAULT:
            save_checkpoints_steps = None
        environment = read_json_object(os.environ.get("TF_CONFIG") or "{}", "TF_CONFIG")
        if model_dir is None:
            model_dir = environment.get("model_dir")
        values = locals()
        for name in _REPLACEABLE:
            setattr(self, f"_{name}", values[name])
        self._model_dir = None if model_dir is None else path_text(model_dir, "model_dir")
        self._check()
        self._take_place(environment)

    def _check(self) -> None:
        if self.save_checkpoints_steps is not None and self.save_checkpoints_secs is not None:
            raise RequestValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for name in (
            "save_summary_steps",
            "save_checkpoints_steps",
            "save_checkpoints_secs",
            "keep_checkpoint_max",
            "log_step_count_steps",
        ):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise RequestValueError(f"{name} should be >= 0, got {value}")
        if self.keep_checkpoint_every_n_hours <= 0:
            raise RequestValueError("keep_checkpoint_every_n_hours should be > 0")
        if self._model_dir == "":
            raise RequestValueError("model_dir should be non-empty")
        for name in ("train_distribute", "eval_distribute", "experimental_distribute"):
            if getattr(self, f"_{name}") is not None:
                raise RequestValueError(
                    f"{name} is a strategy of distribution, which is not here; give parameter servers "
                    "and workers in TF_CONFIG"
                )

    def _take_place(self, environment: Mapping[str, Any]) -> None:
        task = environment.get("task", {})
        self._service = environment.get("service")
        self._cluster_spec = ClusterSpec(environment.get("cluster", {}))
        jobs = self._cluster_spec.as_dict()
        job, self._task_id = task_of(environment)
        self._task_type = _WORKER if job is None else job
        if jobs:
            if not task:
                raise RequestValueError('If "cluster" is set in TF_CONFIG, it must have a "task" as well.')
            if _CHIEF not in jobs and _MASTER not in jobs:
                raise RequestValueError(f'If "cluster" is set in TF_CONFIG, it must have one "{_CHIEF}" node.')
            if self._task_type not in (*jobs, _EVALUATOR):
                raise RequestValueError(f"{self._task_type} is not a valid task_type in the cluster_spec")
        elif self._task_type not in (_WORKER, _MASTER, _EVALUATOR, _CHIEF):
            raise RequestValueError(f"without a cluster there is no task {self._task_type!r}")
        if self._task_type == _EVALUATOR or not jobs:
            self._master = ""
        else:
            if self._task_id not in self._cluster_spec.task_indices(self._task_type):
                raise RequestValueError(f"{self._task_id} is not a valid task_id for {self._task_type}")
            self._master = f"grpc://{self._cluster_spec.task_address(self._task_type, self._task_id)}"
        alone = not jobs
        self._is_chief = (alone and self._task_type == _WORKER) or self._task_type in (_CHIEF, _MASTER)
        self._num_ps_replicas = len(jobs.get(_PS, []))
        workers = sum(len(jobs.get(job, [])) for job in (_CHIEF, _MASTER, _WORKER))
        self._num_worker_replicas = 1 if alone else workers

    # -- settings ------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__[f"_{name}"]
        except KeyError:
            raise AttributeError(f"RunConfig has no setting {name!r}") from None

    @property
    def evaluation_master(self) -> str:
        """The address of the session of evaluations: this process."""
        return ""

    @property
    def global_id_in_cluster(self) -> int:
        """The number of this task among those of the cluster that train: the chief, then the workers."""
        if self._task_type in (_CHIEF, _MASTER):
            return 0
        chiefs = self._num_worker_replicas - len(self._cluster_spec.as_dict().get(_WORKER, []))
        offset = {_WORKER: chiefs, _PS: self._num_worker_replicas}.get(self._task_type, 0)
        return int(offset + self._task_id) if self._cluster_spec.as_dict() else 0

    def replace(self, **kwargs: Any) -> RunConfig:
        """Return settings of which some are others.

        Args:
            kwargs: the settings to replace; one interval of checkpoints replaces the other.

        Raises:
            ValueError: for a name that cannot be replaced.
        """
        config = copy.copy(self)
        config.__dict__ = dict(self.__dict__)
        for name, value in kwargs.items():
            if name not in _REPLACEABLE:
                raise RequestValueError(f"Replacing {name} is not supported. Allowed properties are {_REPLACEABLE}.")
            setattr(config, f"_{name}", value)
        for one, other in (("steps", "secs"), ("secs", "steps")):
            is_changed = kwargs.get(f"save_checkpoints_{one}") is not None
            if is_changed and f"save_checkpoints_{other}" not in kwargs:
                setattr(config, f"_save_checkpoints_{other}", None)
        config._check()
        return config
