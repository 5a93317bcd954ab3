"""The settings of TensorBoard's projector, and imports of the debugger that is not here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.contrib.tensorboard.plugins import projector
from actorsession.compat.v1.python import debug
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


def test_the_debugger_can_be_imported_and_fails_when_it_is_asked_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(NotImplementedError, match="there is no tfdbg"):
            debug.LocalCLIDebugWrapperSession(session)
    assert debug.has_inf_or_nan(None, np.array([1.0, np.inf]))
    assert not debug.has_inf_or_nan(None, np.array(["a"]))
