"""Trains a small bidirectional model of allenai/bilm-tf with its trainer; its program has a large one."""

from __future__ import annotations

from pathlib import Path

from bilm.data import BidirectionalLMDataset
from bilm.training import load_vocab, train

vocabulary = load_vocab("made/vocabulary.txt", 12)
options = {
    "bidirectional": True,
    "char_cnn": {
        "activation": "relu", "embedding": {"dim": 8}, "filters": [[1, 8], [2, 8], [3, 16]],
        "max_characters_per_token": 12, "n_characters": 261, "n_highway": 1,
    },
    "dropout": 0.1,
    "lstm": {
        "cell_clip": 3, "dim": 64, "n_layers": 2, "proj_clip": 3, "projection_dim": 32,
        "use_skip_connections": True,
    },
    "all_clip_norm_val": 10.0, "n_epochs": 4, "n_train_tokens": 125 * 16 * 10, "batch_size": 16,
    "n_tokens_vocab": vocabulary.size, "unroll_steps": 10, "n_negative_samples_batch": 8,
}  # fmt: skip
Path("out").mkdir()
data = BidirectionalLMDataset("made/train.txt", vocabulary, test=False, shuffle_on_load=True)
train(options, data, 1, "out", "out")
