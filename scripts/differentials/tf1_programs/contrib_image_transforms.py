# peer: 1.15: contrib
"""Augments images by rotation and translation."""

import numpy as np
import tensorflow as tf

images = np.arange(2 * 4 * 6, dtype=np.float32).reshape(2, 4, 6, 1)
angles = tf.placeholder_with_default([0.5, -0.25], [2])
with tf.Session() as sess:
    for how in ("NEAREST", "BILINEAR"):
        turned = tf.contrib.image.rotate(tf.constant(images), angles, interpolation=how)
        print(how, turned.shape, turned.dtype.name)
        print(sess.run(turned)[..., 0].round(3))
        print(sess.run(tf.contrib.image.translate(images, [1.5, -1.0], how))[0, :, :, 0])
    flat = tf.contrib.image.compose_transforms(
        [1, 0, 2, 0, 1, 1, 0, 0.0], tf.contrib.image.angles_to_projective_transforms(0.3, 4, 6)
    )
    print(sess.run(flat).round(4))
    bytes_ = np.arange(24, dtype=np.uint8).reshape(4, 6)
    print(sess.run(tf.contrib.image.rotate(bytes_, np.pi / 2)))
    print(
        sess.run(tf.contrib.image.transform(images[0], [0.5, 0, 0, 0, 0.5, 0, 0, 0], "BILINEAR"))[
            :, :, 0
        ]
    )
