"""Small data that programs of repositories learn from, written where they look for it."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "bert",
    "communities",
    "digits",
    "discs",
    "names_of_places",
    "nmt",
    "pieces",
    "speech",
    "thumbnails",
    "translations",
    "vgg",
    "waves",
    "words",
]


def bert(folder: Path) -> None:
    """A vocabulary, a small configuration, and sentences with a label for the task CoLA."""
    text = (folder / "sample_text.txt").read_text("utf-8").lower()
    words = [line.split() for line in text.splitlines()]
    letters = sorted({letter for line in words for word in line for letter in word})
    known = sorted({word for line in words for word in line if word.isalpha()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = dict.fromkeys([*special, *letters, *("##" + each for each in letters), *known])
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    config = {
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "hidden_size": 64,
        "initializer_range": 0.05,
        "intermediate_size": 128,
        "max_position_embeddings": 64,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "type_vocab_size": 2,
        "vocab_size": len(vocabulary),
    }
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


def translations(folder: Path) -> None:
    """The language of ``nmt``, in the pieces of words that a Transformer reads."""
    chance = random.Random(0)
    pieces = [f"▁{letter}" for letter in "abcdefgh"] + [f"▁{letter}{letter}" for letter in "abcdefgh"]
    (folder / "bpe.vocab").write_text("\n".join(["<pad>", "<unk>", "<s>", "</s>", *pieces]), "utf-8")
    for name, count in (("train", 2000), ("eval", 64)):
        sentences = [chance.choices("abcdefgh", k=chance.randrange(2, 6)) for _ in range(count)]
        turned = [[letter * 2 for letter in reversed(each)] for each in sentences]
        for suffix, lines in (("de", sentences), ("en", turned)):
            text = "".join(" ".join(f"▁{word}" for word in line) + "\n" for line in lines)
            (folder / f"{name}.{suffix}.bpe").write_text(text, "utf-8")
        (folder / f"{name}.en").write_text("".join(" ".join(line) + "\n" for line in turned))


def words(folder: Path) -> None:
    """Sentences of a small language in which the next word follows from the last one."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    known = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]
    lines = []
    for _ in range(2000):
        first = chance.randrange(10)
        lines.append(" ".join(known[(first + k) % 10] for k in range(8)) + "\n")
    for name in ("train.txt", "input.txt"):
        (folder / name).write_text("".join(lines))
    (folder / "vocabulary.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *known]) + "\n")


def pieces(folder: Path) -> None:
    """The sentences of ``words`` in documents, and a model of SentencePiece for them."""
    import sentencepiece

    words(folder)
    lines = (folder / "train.txt").read_text().splitlines()
    documents = ["\n".join(lines[k : k + 20]) for k in range(0, len(lines), 20)]
    (folder / "documents.txt").write_text("\n\n".join(documents) + "\n")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "train.txt"),
        model_prefix=str(folder / "pieces"),
        vocab_size=60,
        control_symbols="<cls>,<sep>,<pad>,<mask>,<eod>",
        user_defined_symbols="<eop>,.",
        hard_vocab_limit=False,
        minloglevel=2,
    )


def thumbnails(folder: Path) -> None:
    """Images of 32 by 32 pixels with a coloured slope, as the small ImageNet has them."""
    for name in ("train_32x32", "valid_32x32"):
        (folder / name).mkdir(parents=True)
    chance = np.random.default_rng(0)
    slope = np.linspace(0, 255, 32)[:, None, None] * np.ones((1, 32, 3))
    images = np.stack([slope * chance.uniform(0.2, 1, 3) for _ in range(80)]).astype(np.uint8)
    np.savez(folder / "imgnet_32x32.npz", trainx=images[:64], testx=images[64:])


def vgg(path: Path) -> None:
    """Weights for the network VGG-19, an eighth as wide and random, in the form of MatConvNet."""
    from scipy.io import savemat

    path.parent.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    layers: list[dict[str, Any]] = []
    channels = 3
    for block, (count, width) in enumerate([(2, 8), (2, 16), (4, 32), (4, 64), (4, 64)]):
        for _ in range(count):
            spread = (2 / (9 * channels)) ** 0.5
            cell = np.empty((1, 2), object)
            cell[0, 0] = chance.normal(0, spread, (3, 3, channels, width)).astype(np.float32)
            cell[0, 1] = np.zeros((width, 1), np.float32)
            layers += [{"weights": cell}, {"type": "relu"}]
            channels = width
        if block < 4:
            layers.append({"type": "pool"})
    cells = np.empty((1, len(layers)), object)
    for number, layer in enumerate(layers):
        cells[0, number] = layer
    savemat(path, {"layers": cells, "normalization": {"averageImage": np.full((224, 224, 3), 128.0)}})


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
        # Some are wrong, so that no model is ever without errors to show.
        labels[::50] = (labels[::50] + 1) % 10
        classes = np.array([2049, size], ">i4").tobytes() + labels.tobytes()
        for kind, data in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", classes)):
            path = folder / f"{name}-{kind}"
            if zipped:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(data, 1))
            else:
                path.write_bytes(data)


def discs(
    folder: Path, count: int, size: int, colour: int | None = None, pairs: bool = False, boxes: Path | None = None
) -> None:
    """Photographs of a disc before a dark ground, of one of three colours or of all.

    Args:
        folder: where they go.
        count: how many.
        size: the length of their sides.
        colour: the channel of all discs.
        pairs: whether the outline of each stands to its left, as translators of images want it.
        boxes: a file that gets a line for each, with its place and its colour.
    """
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    lines = []
    for number in range(count):
        cy, cx = chance.uniform(0.3, 0.7, 2) * size
        r = chance.uniform(0.15, 0.25) * size
        distance = np.hypot(y - cy, x - cx)
        paint = np.full(3, 40)
        kind = number % 3 if colour is None else colour
        paint[kind] = 230
        image = np.where((distance < r)[..., None], paint, 30)
        if pairs:
            outline = np.where((abs(distance - r) < 2)[..., None], np.full(3, 0), 255)
            image = np.concatenate([outline, image], axis=1)
        Image.fromarray(image.astype(np.uint8)).save(folder / f"{number:03}.jpg", quality=95)
        box = f"{cx - r:.0f},{cy - r:.0f},{cx + r:.0f},{cy + r:.0f},{kind}"
        lines.append(f"{folder / f'{number:03}.jpg'} {box}\n")
    if boxes is not None:
        boxes.write_text("".join(lines))


def boxes(folder: Path, count: int = 16, size: int = 128) -> None:
    """Photographs of a red and a blue rectangle, with lists of them in two forms.

    Args:
        folder: where they go.
        count: how many.
        size: the length of their sides.
    """
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(0)
    lines, rows = [], []
    for number in range(count):
        paint = chance.integers(30, 60, (size, size, 3)).astype(np.uint8)
        found = []
        for kind, colour in enumerate([(220, 30, 30), (30, 30, 220)]):
            x, y = chance.integers(5, size // 2, 2)
            right, low = (x + chance.integers(size // 5, size // 3), y + chance.integers(size // 5, size // 3))
            paint[y:low, x:right] = colour
            found.append(f"{x},{y},{right},{low},{kind}")
            rows.append(f"{number:03}.png,{x},{y},{right},{low},{('red', 'blue')[kind]}")
        Image.fromarray(paint).save(folder / f"{number:03}.png")
        lines.append(f"{folder.name}/{number:03}.png {' '.join(found)}")
    for name, content in (("train.txt", lines), ("boxes.csv", rows), ("classes.csv", ["red,0", "blue,1"])):
        (folder / name).write_text("\n".join(content) + "\n")


def speech(folder: Path) -> None:
    """Spectrograms of made-up words, where each letter has a band of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    lines = []
    for number in range(32):
        word = "".join(chance.choices("abcde", k=chance.randrange(3, 7)))
        for name, bands in (("spec", 65), ("mel", 20)):
            frames = np.zeros((5 * len(word), bands), np.float32)
            for place, letter in enumerate(word):
                at = (1 + "abcde".index(letter)) * bands // 6
                frames[5 * place : 5 * place + 5, at - 1 : at + 2] = 1.0
            np.save(folder / f"{name}{number}.npy", frames)
        lines.append(f"spec{number}.npy|mel{number}.npy|{5 * len(word)}|{word}\n")
    (folder / "train.txt").write_text("".join(lines))


def communities(folder: Path) -> None:
    """A graph of three communities, with features that show little, in GraphSAGE's files."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    classes = [chance.randrange(3) for _ in range(600)]
    nodes = [{"id": each, "val": each % 5 == 0, "test": each % 5 == 1, "label": classes[each]} for each in range(600)]
    links = []
    for each, own in enumerate(classes):
        near = [other for other in chance.sample(range(600), 60) if classes[other] == own]
        links += [{"source": each, "target": other} for other in chance.sample(near, 4) if other != each]
    graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}
    (folder / "made-G.json").write_text(json.dumps(graph))
    for name, values in (("id_map", list(range(600))), ("class_map", classes)):
        (folder / f"made-{name}.json").write_text(json.dumps({str(k): v for k, v in enumerate(values)}))
    noise = np.random.default_rng(0).normal(0, 2, (600, 8))
    noise[np.arange(600), classes] += 2
    np.save(folder / "made-feats.npy", noise)
    (folder / "made-walks.txt").write_text("".join(f"{x['source']}\t{x['target']}\n" for x in links))


def names_of_places(folder: Path) -> None:
    """Sentences whose words have tags that their letters show, and vectors of words, for a tagger."""
    chance = random.Random(0)
    kinds = {"O": ["walked", "saw", "in", "and", "with", "near"], "PER": ["Anna", "Bert", "Carl", "Dora", "Emil"]}
    kinds["LOC"] = ["Aburg", "Bburg", "Cburg", "Dburg", "Eburg"]
    sentences = []
    for _ in range(200):
        tags = ["PER", "O", "O", "LOC", "O", chance.choice(["PER", "LOC"])]
        lines = [f"{chance.choice(kinds[tag])} {tag if tag == 'O' else 'B-' + tag}\n" for tag in tags]
        sentences.append("".join(lines))
    (folder / "data" / "test.txt").write_text("-DOCSTART- O\n\n" + "\n".join(sentences) + "\n")
    (folder / "data" / "glove.6B").mkdir()
    vectors = np.random.default_rng(0).normal(0, 1, (16, 30))
    words = [word.lower() for kind in kinds.values() for word in kind]
    with open(folder / "data" / "glove.6B" / "glove.6B.30d.txt", "w") as file:
        for word, vector in zip(words, vectors, strict=True):
            file.write(" ".join([word, *(f"{number:.3f}" for number in vector)]) + "\n")


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
    (folder / "params.json").write_text(json.dumps(settings | {"dilations": [2**k for k in range(8)] * 2}))
