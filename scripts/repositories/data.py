"""Small data that programs of repositories learn from, written where they look for it."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import numpy as np

__all__ = [
    "bert", "communities", "digits", "discs", "names_of_places", "nmt", "speech", "waves",
]  # fmt: skip


def bert(folder: Path) -> None:
    """A vocabulary, a small configuration, and sentences with a label for the task CoLA."""
    words = [
        line.split()
        for line in (folder / "sample_text.txt").read_text("utf-8").lower().splitlines()
    ]
    letters = sorted({letter for line in words for word in line for letter in word})
    known = sorted({word for line in words for word in line if word.isalpha()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = dict.fromkeys([*special, *letters, *("##" + each for each in letters), *known])
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    config = {
        "attention_probs_dropout_prob": 0.0, "hidden_act": "gelu", "hidden_dropout_prob": 0.0,
        "hidden_size": 64, "initializer_range": 0.05, "intermediate_size": 128,
        "max_position_embeddings": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
        "type_vocab_size": 2, "vocab_size": len(vocabulary),
    }  # fmt: skip
    (folder / "bert_config.json").write_text(json.dumps(config))
    chance = random.Random(0)
    (folder / "cola").mkdir()
    for name, count in (("train", 400), ("dev", 100)):
        lines = []
        for _ in range(count):
            label = chance.randrange(2)
            sentence = [*chance.choices(known, k=5), ("night", "day")[label]]
            chance.shuffle(sentence)
            lines.append(f"source\t{label}\t\t{' '.join(sentence)}\n")
        (folder / "cola" / f"{name}.tsv").write_text("".join(lines), "utf-8")


def nmt(folder: Path) -> None:
    """Sentences of a language whose translation has another word for each of its words, in turned order."""
    chance = random.Random(0)
    made = folder / "made"
    made.mkdir()
    for name, count in (("train", 2000), ("dev", 50), ("test", 50)):
        sentences = [chance.choices("abcdefgh", k=chance.randrange(2, 6)) for _ in range(count)]
        turned = [[f"{letter}{letter}" for letter in reversed(each)] for each in sentences]
        for suffix, lines in (("src", sentences), ("tgt", turned)):
            (made / f"{name}.{suffix}").write_text("".join(" ".join(line) + "\n" for line in lines))
    special = ["<unk>", "<s>", "</s>"]
    (made / "vocab.src").write_text("\n".join([*special, *"abcdefgh"]))
    (made / "vocab.tgt").write_text("\n".join([*special, *(letter * 2 for letter in "abcdefgh")]))


def digits(folder: Path, count: int = 60000, zipped: bool = True) -> None:
    """Files of the form of MNIST: a blurred bar at one of ten angles for each digit."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    y, x = np.mgrid[-14:14, -14:14] + 0.5
    bars = np.stack([np.sin(np.pi * k / 10) * x + np.cos(np.pi * k / 10) * y for k in range(10)])
    for name, size in (("train", count), ("t10k", 10000)):
        labels = chance.integers(0, 10, size).astype(np.uint8)
        shift = chance.normal(0, 1.5, size)
        pixels = np.empty((size, 28, 28), np.uint8)
        for k in range(0, size, 1000):
            part = slice(k, k + 1000)
            pixels[part] = 255 * np.exp(-((bars[labels[part]] - shift[part, None, None]) ** 2) / 4)
        images = np.array([2051, size, 28, 28], ">i4").tobytes() + pixels.tobytes()
        classes = np.array([2049, size], ">i4").tobytes() + labels.tobytes()
        for kind, data in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", classes)):
            path = folder / f"{name}-{kind}"
            if zipped:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(data, 1))
            else:
                path.write_bytes(data)


def images_of_colours(folder: Path, count: int = 64, size: int = 64) -> None:
    """Photographs of one disc before a plain ground, of many colours."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    for number in range(count):
        ground, disc = chance.integers(0, 256, (2, 3))
        cy, cx, r = chance.uniform(0.3, 0.7) * size, chance.uniform(0.3, 0.7) * size, size / 5
        inside = ((y - cy) ** 2 + (x - cx) ** 2 < r * r)[..., None]
        Image.fromarray(np.where(inside, disc, ground).astype(np.uint8)).save(
            folder / f"{number:03}.jpg"
        )


def waves(folder: Path) -> None:
    """Recordings of a second of two tones, in files named as the corpus VCTK names them."""
    import wave

    folder.mkdir(parents=True, exist_ok=True)
    time = np.arange(16000) / 16000
    for number in range(4):
        tone = np.sin(2 * np.pi * 220 * (1 + number / 4) * time) * np.sin(2 * np.pi * 3 * time)
        with wave.open(str(folder / f"p225_{number:03}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            file.writeframes((tone * 20000).astype("<i2").tobytes())
    settings = json.loads((folder.parent / "wavenet_params.json").read_text())
    (folder / "params.json").write_text(
        json.dumps(settings | {"dilations": [2**k for k in range(8)] * 2})
    )
