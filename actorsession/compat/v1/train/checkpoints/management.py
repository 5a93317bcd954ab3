"""The ``checkpoint`` file of a folder as TensorFlow's message; the rest is ``actorsession.train``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from actorsession import train
from actorsession.checkpoints import CheckpointReader
from actorsession.compat.v1.sessions.messages import CheckpointState
from actorsession.config.file_roots import path_text
from actorsession.interop.enums import label_of
from actorsession.train import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)

__all__ = [
    "CheckpointState",
    "NewCheckpointReader",
    "checkpoint_exists",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "meta_graph_filename",
    "remove_checkpoint",
    "update_checkpoint_state",
]


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return a reader of a checkpoint.

    Args:
        filepattern: prefix of the checkpoint.

    Raises:
        NotFoundError: if there is no such checkpoint.
        DataLossError: if it is damaged.
    """
    return _Reader(path_text(filepattern))


class _Reader(CheckpointReader):
    """Describes tensors with TensorFlow's names of types."""

    def debug_string(self) -> bytes:
        """Return one line for each tensor: name, element type and shape."""
        kinds = {
            name: label_of("DataType", dtype.as_datatype_enum)
            for name, dtype in self.get_variable_to_dtype_map().items()
        }
        shapes = sorted(self.get_variable_to_shape_map().items())
        lines = [f"{name} ({kinds.get(name, 'DT_INVALID')}) [{','.join(map(str, shape))}]" for name, shape in shapes]
        return "\n".join(lines).encode()


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """Return the state of a folder as a message; ``None`` if there is none.

    Args:
        checkpoint_dir: the folder.
        latest_filename: name of the state file; ``checkpoint`` if omitted.
    """
    state = train.get_checkpoint_state(checkpoint_dir, latest_filename)
    return None if state is None else _message(state)


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Return the state of a folder as a message; see ``actorsession.train``.

    Args:
        save_dir: the folder.
        model_checkpoint_path: prefix of the latest checkpoint.
        all_model_checkpoint_paths: prefixes of all checkpoints that are kept.
        all_model_checkpoint_timestamps: time at which each was written.
        last_preserved_timestamp: time of the last checkpoint that is kept permanently.

    Raises:
        ValueError: if there are timestamps, but not one for each path.
    """
    return _message(
        train.generate_checkpoint_state_proto(
            save_dir,
            model_checkpoint_path,
            all_model_checkpoint_paths,
            all_model_checkpoint_timestamps,
            last_preserved_timestamp,
        )
    )


def _message(state: train.CheckpointState) -> Any:
    return CheckpointState(
        model_checkpoint_path=state.model_checkpoint_path,
        all_model_checkpoint_paths=state.all_model_checkpoint_paths,
        all_model_checkpoint_timestamps=state.all_model_checkpoint_timestamps,
        last_preserved_timestamp=state.last_preserved_timestamp,
    )


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the path of the graph that is written beside a checkpoint.

    Args:
        checkpoint_filename: prefix of the checkpoint, perhaps with the number of a shard.
        meta_graph_suffix: what follows after a dot.
    """
    whole = re.sub(r"-[\d?]+-of-\d+$", "", checkpoint_filename)
    return f"{whole}.{meta_graph_suffix}"
