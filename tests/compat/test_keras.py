"""Programs for Keras 2.2, by ``tf.keras`` and by the package, under ``run-tf1``."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.kit import ran

# Where scripts/test --all installs Keras; or beside the library, as a user does.
APART = Path(sys.prefix) / "keras"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not APART.is_dir() and importlib.util.find_spec("keras") is None, reason="Keras is not installed"
    ),
]

FRONTS = {
    "tf.keras": "import tensorflow as tf\nkeras = tf.keras\n",
    "the package": "import keras\nimport tensorflow as tf\n",
}
BEGIN = """
import json
import numpy as np

random = np.random.RandomState(0)
x = random.rand(128, 8).astype("float32")
y = (x.sum(1) > 4).astype("float32")
model = keras.Sequential([
    keras.layers.Dense(16, activation="relu", input_shape=(8,)),
    keras.layers.Dense(1, activation="sigmoid"),
])
"""
TRAIN = """
model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=30, batch_size=16, verbose=0).history
weights = model.get_weights()
model.save("model.h5")
again = keras.models.load_model("model.h5")
print(json.dumps({
    "losses": [float(v) for v in history["loss"]],
    "weights": [w.tolist() for w in weights], "x": x[:4].tolist(),
    "answer": model.predict(x[:4]).tolist(), "again": again.predict(x[:4]).tolist(),
}))
"""
BRIDGED = """
model.compile(keras.optimizers.Adam(learning_rate=0.02), "binary_crossentropy")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).repeat()
history = model.fit(data, epochs=8, steps_per_epoch=8, verbose=0).history
model.save_weights("weights/w")
before = model.predict(x[:4]).tolist()
model.set_weights([w * 0 for w in model.get_weights()])
model.load_weights("weights/w")
plain = keras.layers.Dense(3)(tf.placeholder(tf.float32, [None, 8]))
print(json.dumps({
    "losses": [float(v) for v in history["loss"]], "same": before == model.predict(x[:4]).tolist(),
    "shape": plain.shape.as_list(),
}))
"""
SEQUENCES = """
steps = random.rand(64, 5, 3).astype("float32")
total = steps.sum((1, 2))[:, None]
model = keras.Sequential([keras.layers.LSTM(8, input_shape=(5, 3)), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.05), "mse")
history = model.fit(steps, total, epochs=15, batch_size=16, verbose=0).history
print(json.dumps({"losses": [float(v) for v in history["loss"]]}))
"""


def printed(tmp_path: Path, text: str, *options: str) -> Any:
    program = tmp_path / "program.py"
    program.write_text(f"import os\nos.chdir({str(tmp_path)!r})\n{text}")
    path = os.pathsep.join([str(APART), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    code, out, err = ran("run-tf1", *options, str(program), PYTHONPATH=path)
    assert code == 0, err
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("device", ["cpu", "torch-cpu"])
@pytest.mark.parametrize("front", FRONTS)
def test_a_model_learns_is_saved_and_computes_what_numpy_does(front: str, device: str, tmp_path: Path) -> None:
    if device == "torch-cpu":
        pytest.importorskip("torch", reason="torch is not installed")
    found = printed(tmp_path, FRONTS[front] + BEGIN + TRAIN, "--device", device)
    assert found["losses"][-1] < 0.7 * found["losses"][0]
    w, b, v, c = map(np.array, found["weights"])
    logits = np.maximum(np.array(found["x"]) @ w + b, 0) @ v + c
    np.testing.assert_allclose(found["answer"], 1 / (1 + np.exp(-logits)), rtol=1e-4)
    assert found["again"] == found["answer"]


def test_tf_keras_takes_datasets_rates_by_name_checkpoints_and_plain_tensors(tmp_path: Path) -> None:
    found = printed(tmp_path, FRONTS["tf.keras"] + BEGIN + BRIDGED)
    assert found["losses"][-1] < found["losses"][0]
    assert found["same"]
    assert found["shape"] == [None, 3]


def test_recurrent_layers_learn(tmp_path: Path) -> None:
    found = printed(tmp_path, FRONTS["tf.keras"] + BEGIN + SEQUENCES)
    assert found["losses"][-1] < 0.5 * found["losses"][0]
