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


_LINALG: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "inverse": ("matrix_inverse", lambda tf, a: tf.matrix_inverse(a)),
    "determinant": ("matrix_determinant", lambda tf, a: tf.matrix_determinant(a)),
    "cholesky": ("cholesky", lambda tf, a: tf.cholesky(a)),
    "solve": ("matrix_solve", lambda tf, a: tf.matrix_solve(a, a[:, :1])),
    "eigenvalues": ("self_adjoint_eigvals", lambda tf, a: tf.self_adjoint_eigvals(a)),
    "singular": ("svd", lambda tf, a: tf.svd(a, compute_uv=False)),
    "trace": ("trace", lambda tf, a: tf.trace(a)),
    "eye": ("eye", lambda tf, a: tf.eye(3, 2)),
    "norm": ("norm", lambda tf, a: [tf.norm(a), tf.norm(a, 1, axis=0)]),
    "einsum": ("einsum", lambda tf, a: tf.einsum("ij,jk->ik", a, a)),
    "tensordot": ("tensordot", lambda tf, a: tf.tensordot(a, a, 1)),
    "triangular": ("matrix_triangular_solve", lambda tf, a: tf.matrix_triangular_solve(a, a)),
    "slope-of-determinant": (
        "matrix_determinant",
        lambda tf, a: tf.gradients(tf.matrix_determinant(a), a),
    ),
    "slope-of-inverse": ("matrix_inverse", lambda tf, a: tf.gradients(tf.matrix_inverse(a), a)),
    "slope-of-cholesky": ("cholesky", lambda tf, a: tf.gradients(tf.cholesky(a), a)),
}
for _name, (_need, _compute) in _LINALG.items():
    linalg.add(
        _name,
        lambda tf, np, compute=_compute: Plan(
            compute(tf, tf.constant(_square(np))), tolerance=1e-7
        ),
        _need,
    )

_IMAGES: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "flip": ("image.flip_left_right", lambda tf, x: tf.image.flip_left_right(x)),
    "flip-down": ("image.flip_up_down", lambda tf, x: tf.image.flip_up_down(x)),
    "rot": ("image.rot90", lambda tf, x: tf.image.rot90(x)),
    "grey": ("image.rgb_to_grayscale", lambda tf, x: tf.image.rgb_to_grayscale(x)),
    "bilinear": ("image.resize_bilinear", lambda tf, x: tf.image.resize_bilinear(x, [5, 3])),
    "nearest": (
        "image.resize_nearest_neighbor",
        lambda tf, x: tf.image.resize_nearest_neighbor(x, [2, 7]),
    ),
    "crop": ("image.central_crop", lambda tf, x: tf.image.central_crop(x[0], 0.5)),
    "pad": (
        "image.resize_image_with_crop_or_pad",
        lambda tf, x: tf.image.resize_image_with_crop_or_pad(x, 6, 2),
    ),
    "standard": (
        "image.per_image_standardization",
        lambda tf, x: tf.image.per_image_standardization(x),
    ),
    "brightness": ("image.adjust_brightness", lambda tf, x: tf.image.adjust_brightness(x, 0.2)),
    "contrast": ("image.adjust_contrast", lambda tf, x: tf.image.adjust_contrast(x, 1.5)),
    "hsv": ("image.rgb_to_hsv", lambda tf, x: tf.image.rgb_to_hsv(x)),
}
for _name, (_need, _change) in _IMAGES.items():
    images.add(
        _name,
        lambda tf, np, change=_change: change(tf, tf.constant(reals(np, (1, 4, 4, 3), 0, 1))),
        _need,
    )
