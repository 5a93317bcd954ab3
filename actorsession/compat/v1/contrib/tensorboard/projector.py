"""``projector``: the settings of TensorBoard's projector of embeddings, a file beside the summaries."""

from __future__ import annotations

import os
from typing import Any

from actorsession.interop.tabled import message_class
from actorsession.interop.text_format import MessageToString

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]

ProjectorConfig = message_class("ProjectorConfig")
EmbeddingInfo = message_class("EmbeddingInfo")
SpriteMetadata = message_class("SpriteMetadata")


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write the settings of the projector into the folder of a writer of summaries.

    Args:
        summary_writer: the writer.
        config: the settings, a ``ProjectorConfig``.

    Raises:
        ValueError: if the writer has no folder.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    with open(os.path.join(os.fsdecode(folder), "projector_config.pbtxt"), "w") as file:
        file.write(MessageToString(config))
