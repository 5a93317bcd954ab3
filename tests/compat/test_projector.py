"""The settings of TensorBoard's projector."""

from __future__ import annotations

from pathlib import Path

import actorsession.compat.v1 as tf
from actorsession.compat.v1.contrib.tensorboard.plugins import projector
from actorsession.interop import text_format


def test_settings_of_the_projector_are_a_file_beside_the_summaries(tmp_path: Path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words:0"
    embedding.metadata_path = "words.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        tf.contrib.tensorboard.plugins.projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text.startswith('embeddings {\n  tensor_name: "words:0"\n')
    assert text_format.Parse(text, projector.ProjectorConfig()) == config
