"""``tf.contrib.tensorboard.plugins.projector``: says to TensorBoard which variables are embeddings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from actorsession.interop.message import Message
from actorsession.interop.text_format import MessageToString

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


class SpriteMetadata(Message):
    """One image with the pictures of all points."""

    SCHEMA = """
        1 image_path string
        2 single_image_dim uint32*
    """


class EmbeddingInfo(Message):
    """A variable, and where its points are described."""

    SCHEMA = """
        1 tensor_name string
        2 metadata_path string
        3 bookmarks_path string
        4 tensor_shape uint32*
        5 sprite SpriteMetadata
        6 tensor_path string
    """


class ProjectorConfig(Message):
    """The embeddings of a checkpoint."""

    SCHEMA = """
        1 model_checkpoint_path string
        2 embeddings EmbeddingInfo*
        3 model_checkpoint_dir string
    """


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Write the settings of the projector beside the events of a writer.

    Args:
        summary_writer: the writer.
        config: the settings.

    Raises:
        ValueError: if the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    Path(folder, "projector_config.pbtxt").write_text(MessageToString(config))
