"""Trains the tiny model of qqwweee/keras-yolo3 on the boxes of made-up images, and finds boxes with it."""

from __future__ import annotations

import numpy as np
import train
from keras import backend
from keras.layers import Input
from keras.optimizers import Adam
from yolo3.model import tiny_yolo_body, yolo_eval

SIZE = (128, 128)

with open("made/train.txt") as file:
    lines = file.readlines()
anchors = train.get_anchors("model_data/tiny_yolo_anchors.txt")
model = train.create_tiny_model(SIZE, anchors, 2, load_pretrained=False)
model.compile(optimizer=Adam(lr=1e-3), loss={"yolo_loss": lambda right, found: found})
batches = train.data_generator_wrapper(lines, 8, SIZE, anchors, 2)
model.fit_generator(batches, steps_per_epoch=2, epochs=12, verbose=2)
model.save_weights("weights.h5")
body = tiny_yolo_body(Input(shape=(None, None, 3)), len(anchors) // 2, 2)
body.load_weights("weights.h5")
shape = backend.placeholder(shape=(2,))
found = yolo_eval(body.output, anchors, 2, shape, score_threshold=0.01)
feeds = {body.input: np.random.rand(1, *SIZE, 3), shape: SIZE, backend.learning_phase(): 0}
boxes = backend.get_session().run(found, feeds)[0]
print("boxes", len(boxes), "finite", np.isfinite(boxes).all())
