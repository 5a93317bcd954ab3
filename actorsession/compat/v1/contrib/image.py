"""``tf.contrib.image``: projective transformations of images.

A transformation is eight numbers ``a0 a1 a2 b0 b1 b2 c0 c1``: the pixel of the output at ``(x, y)`` is that
of the input at ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with ``k = c0 x + c1 y + 1``, and 0
outside.
"""

from __future__ import annotations

from typing import Any

from actorsession.compat import v1 as tf

__all__ = [
    "angles_to_projective_transforms",
    "compose_transforms",
    "flat_transforms_to_matrices",
    "matrices_to_flat_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> Any:
    """Return images turned counter-clockwise around their middle.

    Args:
        images: ``[rows, columns]``, ``[rows, columns, channels]`` or a batch of the latter.
        angles: radians, one number or one for each image.
        interpolation: ``NEAREST`` or ``BILINEAR``.
        name: name of the operations.
    """
    with tf.name_scope(name, "rotate"):
        images = tf.convert_to_tensor(images)
        rows, columns = _sizes(images)
        return transform(images, angles_to_projective_transforms(angles, rows, columns), interpolation)


def translate(images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None) -> Any:
    """Return images moved by vectors ``(dx, dy)``; the other arguments are those of ``rotate``."""
    with tf.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def angles_to_projective_transforms(angles: Any, image_height: Any, image_width: Any, name: str | None = None) -> Any:
    """Return the transformations that turn images; arguments are those of ``rotate``, and their size."""
    with tf.name_scope(name, "angles_to_projective_transforms"):
        turned = tf.convert_to_tensor(angles, tf.float32)
        turned = turned[None] if turned.shape.rank == 0 else turned
        cos, sin = tf.cos(turned), tf.sin(turned)
        right, down = tf.cast(image_width, tf.float32) - 1, tf.cast(image_height, tf.float32) - 1
        x = (right - (cos * right - sin * down)) / 2.0
        y = (down - (sin * right + cos * down)) / 2.0
        none = tf.zeros_like(cos)
        return tf.stack([cos, -sin, x, sin, cos, y, none, none], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Any:
    """Return the transformations that move images by vectors ``(dx, dy)``."""
    with tf.name_scope(name, "translations_to_projective_transforms"):
        moved = tf.convert_to_tensor(translations, tf.float32)
        moved = moved[None] if moved.shape.rank == 1 else moved
        none, one = tf.zeros_like(moved[:, 0]), tf.ones_like(moved[:, 0])
        return tf.stack([one, none, -moved[:, 0], none, one, -moved[:, 1], none, none], axis=1)


def flat_transforms_to_matrices(transforms: Any) -> Any:
    """Return the 3x3 matrices of transformations, ``[count, 3, 3]``."""
    rows = tf.reshape(tf.convert_to_tensor(transforms, tf.float32), [-1, 8])
    ones = tf.ones_like(rows[:, :1])
    return tf.reshape(tf.concat([rows, ones], axis=1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: Any) -> Any:
    """Return the transformations of 3x3 matrices, scaled so that the last number is 1."""
    flat = tf.reshape(tf.convert_to_tensor(transform_matrices, tf.float32), [-1, 9])
    return (flat / flat[:, 8:])[:, :8]


def compose_transforms(*transforms: Any) -> Any:
    """Return the transformation that applies several, the first of them first."""
    if not transforms:
        raise ValueError("compose_transforms needs at least one transformation")
    composed = flat_transforms_to_matrices(transforms[0])
    for one in transforms[1:]:
        composed = tf.matmul(composed, flat_transforms_to_matrices(one))
    return matrices_to_flat_transforms(composed)


def transform(
    images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None, name: str | None = None
) -> Any:
    """Return images under projective transformations.

    Args:
        images: as for ``rotate``.
        transforms: eight numbers, or eight for each image.
        interpolation: ``NEAREST`` or ``BILINEAR``.
        output_shape: rows and columns of the result; those of the images if omitted.
        name: name of the operations.

    Raises:
        TypeError: for images of another rank.
        ValueError: for another interpolation.
    """
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise ValueError(f"interpolation is NEAREST or BILINEAR, got {interpolation!r}")
    with tf.name_scope(name, "transform"):
        pictures = tf.convert_to_tensor(images)
        rank = pictures.shape.rank
        if rank not in (2, 3, 4):
            raise TypeError(f"Images should have rank between 2 and 4, got {rank}.")
        batch = {2: pictures[None, :, :, None], 3: pictures[None], 4: pictures}[rank] if rank != 4 else pictures
        size = _sizes(pictures) if output_shape is None else tf.unstack(tf.convert_to_tensor(output_shape))
        x, y = _sources(transforms, size)
        count = tf.shape(batch)[0]
        x, y = (tf.tile(v, [count // tf.shape(v)[0], 1, 1]) for v in (x, y))
        moved = _picked(batch, x, y) if interpolation == "NEAREST" else _blended(batch, x, y)
        return moved[0, :, :, 0] if rank == 2 else moved[0] if rank == 3 else moved


def _sizes(images: Any) -> tuple[Any, Any]:
    first = 1 if images.shape.rank == 4 else 0
    known = images.shape.as_list()[first : first + 2]
    shape = tf.shape(images)
    return tuple(  # type: ignore[return-value]
        shape[first + axis] if size is None else size for axis, size in enumerate(known)
    )


def _sources(transforms: Any, size: Any) -> tuple[Any, Any]:
    """The place of the input that each pixel of the output shows, ``[count, rows, columns]`` each."""
    rows = tf.reshape(tf.convert_to_tensor(transforms, tf.float32), [-1, 8])
    a0, a1, a2, b0, b1, b2, c0, c1 = (v[:, None, None] for v in tf.unstack(rows, axis=1))
    x = tf.cast(tf.range(size[1]), tf.float32)[None, None, :]
    y = tf.cast(tf.range(size[0]), tf.float32)[None, :, None]
    k = c0 * x + c1 * y + 1.0
    return (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k


def _picked(images: Any, x: Any, y: Any) -> Any:
    """The pixels nearest to places; 0 outside."""
    return _at(images, _rounded(x), _rounded(y))


def _rounded(value: Any) -> Any:
    # Halves go away from zero, as C's ``round`` has it; ``tf.round`` takes them to even numbers.
    return tf.cast(tf.sign(value) * tf.floor(tf.abs(value) + 0.5), tf.int32)


def _at(images: Any, x: Any, y: Any) -> Any:
    rows, columns = _sizes(images)
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    number = tf.range(tf.shape(images)[0])[:, None, None] + tf.zeros_like(x)
    column, row = tf.clip_by_value(x, 0, columns - 1), tf.clip_by_value(y, 0, rows - 1)
    pixels = tf.gather_nd(images, tf.stack([number, row, column], axis=3))
    return pixels * tf.cast(inside[..., None], images.dtype)


def _blended(images: Any, x: Any, y: Any) -> Any:
    """The mean of the four pixels around places, by their distances."""
    left, top = tf.floor(x), tf.floor(y)
    blend: Any = 0.0
    for across in (0, 1):
        for down in (0, 1):
            column, row = left + across, top + down
            weight = (1 - tf.abs(x - column)) * (1 - tf.abs(y - row))
            pixel = _at(images, tf.cast(column, tf.int32), tf.cast(row, tf.int32))
            blend += tf.cast(pixel, tf.float32) * weight[..., None]
    return tf.cast(blend, images.dtype)
