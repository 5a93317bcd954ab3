"""Linear algebra and images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

linalg = Family("linalg")
images = Family("images")
FAMILIES = [linalg, images]


def _square(np: Any) -> Any:
    a = reals(np, (3, 3), dtype="float64")
    return a @ a.T + 3 * np.eye(3)


_LINALG: dict[str, Callable[[Any, Any], Any]] = {
    "inverse": lambda tf, a: tf.matrix_inverse(a),
    "determinant": lambda tf, a: tf.matrix_determinant(a),
    "cholesky": lambda tf, a: tf.cholesky(a),
    "solve": lambda tf, a: tf.matrix_solve(a, a[:, :1]),
    "eigenvalues": lambda tf, a: tf.self_adjoint_eigvals(a),
    "singular": lambda tf, a: tf.svd(a, compute_uv=False),
    "trace": lambda tf, a: tf.trace(a),
    "eye": lambda tf, a: tf.eye(3, 2),
    "norm": lambda tf, a: [tf.norm(a), tf.norm(a, 1, axis=0)],
    "einsum": lambda tf, a: tf.einsum("ij,jk->ik", a, a),
    "tensordot": lambda tf, a: tf.tensordot(a, a, 1),
    "triangular": lambda tf, a: tf.matrix_triangular_solve(a, a),
    "slope-of-determinant": lambda tf, a: tf.gradients(tf.matrix_determinant(a), a),
    "slope-of-inverse": lambda tf, a: tf.gradients(tf.matrix_inverse(a), a),
    "slope-of-cholesky": lambda tf, a: tf.gradients(tf.cholesky(a), a),
}
linalg.each(_LINALG, lambda call: lambda tf, np: Plan(call(tf, tf.constant(_square(np))), tolerance=1e-7))

_IMAGES: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda tf, x: tf.image.flip_left_right(x),
    "flip-down": lambda tf, x: tf.image.flip_up_down(x),
    "rot": lambda tf, x: tf.image.rot90(x),
    "grey": lambda tf, x: tf.image.rgb_to_grayscale(x),
    "bilinear": lambda tf, x: tf.image.resize_bilinear(x, [5, 3]),
    "nearest": lambda tf, x: tf.image.resize_nearest_neighbor(x, [2, 7]),
    "crop": lambda tf, x: tf.image.central_crop(x[0], 0.5),
    "pad": lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 6, 2),
    "standard": lambda tf, x: tf.image.per_image_standardization(x),
    "brightness": lambda tf, x: tf.image.adjust_brightness(x, 0.2),
    "contrast": lambda tf, x: tf.image.adjust_contrast(x, 1.5),
    "hsv": lambda tf, x: tf.image.rgb_to_hsv(x),
}
images.each(_IMAGES, lambda change: lambda tf, np: change(tf, tf.constant(reals(np, (1, 4, 4, 3), 0, 1))))
