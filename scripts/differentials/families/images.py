"""Functions of matrices and images that consist of several operations, and what they refuse.

What operation types compute is compared by the rows of ``tests/ops/table``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

linalg = Family("linalg")
images = Family("images")


def _square(np: Any) -> Any:
    a = reals(np, (3, 3), dtype="float64")
    return a @ a.T + 3 * np.eye(3)


_LINALG: dict[str, Callable[[Any, Any], Any]] = {
    "trace": lambda tf, a: tf.trace(a),
    "eye": lambda tf, a: tf.eye(3, 2),
    "norm": lambda tf, a: [tf.norm(a), tf.norm(a, 1, axis=0)],
    "einsum": lambda tf, a: tf.einsum("ij,jk->ik", a, a),
    "tensordot": lambda tf, a: tf.tensordot(a, a, 1),
}
linalg.each(_LINALG, lambda call: lambda tf, np: Plan(call(tf, tf.constant(_square(np))), tolerance=1e-7))

_IMAGES: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda image, x: image.flip_left_right(x),
    "flip-down": lambda image, x: image.flip_up_down(x),
    "rot": lambda image, x: image.rot90(x),
    "grey": lambda image, x: image.rgb_to_grayscale(x),
    "crop": lambda image, x: image.central_crop(x[0], 0.5),
    "pad": lambda image, x: image.resize_image_with_crop_or_pad(x, 6, 2),
    "standard": lambda image, x: image.per_image_standardization(x),
    "brightness": lambda image, x: image.adjust_brightness(x, 0.2),
    "colours": lambda image, x: [image.rgb_to_yiq(x), image.yiq_to_rgb(x), image.rgb_to_yuv(x), image.yuv_to_rgb(x)],
    "edges": lambda image, x: image.sobel_edges(x),
    "gradients": lambda image, x: image.image_gradients(x),
    "gradients-of-one": lambda image, x: image.image_gradients(x[0]),
    "yiq-of-two": lambda image, x: image.rgb_to_yiq(x[..., :2]),
}
images.each(_IMAGES, lambda change: lambda tf, np: change(tf.image, tf.constant(reals(np, (1, 4, 4, 3), 0, 1))))


def _pictures(tf: Any, np: Any, *size: int) -> Any:
    return tf.constant(reals(np, size or (2, 12, 13, 3), 0, 1))


_BOX = [[0.0, 0.0, 1.0, 1.0]]


def _scored(tf: Any, np: Any, *shape: int) -> tuple[Any, Any]:
    """Return boxes whose first corner is the lower one, and scores that are all different."""
    corners = np.sort(reals(np, (*shape, 2, 2), 0, 1), axis=-2)
    apart = np.arange(np.prod(shape)).reshape(shape) / 1e6
    scores = (reals(np, shape, 0.01, 1) + apart).astype("float32")
    return tf.constant(corners.reshape(*shape, 4)), tf.constant(scores)


def _cropped(tf: Any, np: Any, *rest: Any, **given: Any) -> Any:
    return tf.image.crop_and_resize(_pictures(tf, np), _BOX, *rest, **given)


def _drawn(tf: Any, np: Any, channels: int = 3, boxes: Any = (_BOX,)) -> Any:
    return tf.image.draw_bounding_boxes(np.zeros((1, 9, 8, channels), "float32"), boxes)


def _padded(tf: Any, np: Any, *shape: int, **given: Any) -> Any:
    return tf.image.non_max_suppression_padded(*_scored(tf, np, *shape), 6, **given)


def _bytes(tf: Any, np: Any, *ends: int) -> Any:
    return tf.constant(reals(np, (1, 14, 15, 2), *ends).astype("uint8"))


for _what, _pair in {
    "": lambda tf, np: (_pictures(tf, np), _pictures(tf, np) * 0.9, 1.0),
    "-of-bytes": lambda tf, np: (_bytes(tf, np, 0, 255), _bytes(tf, np, 1, 254), 255),
    "-other-sizes": lambda tf, np: (_pictures(tf, np), _pictures(tf, np, 2, 12, 12, 3), 1.0),
    "-broadcast": lambda tf, np: (_pictures(tf, np), _pictures(tf, np, 1, 12, 13, 3), 1.0),
}.items():
    images.over(
        f"{{name}}{_what}",
        lambda tf, np, name, pair: getattr(tf.image, name)(*pair(tf, np)),
        name=("psnr", "ssim"),
        pair={"": _pair},
    )
images.each(
    {
        "crops-of-nothing": lambda tf, np: _cropped(tf, np, [0], [0, 2]),
        "crops-cubic": lambda tf, np: _cropped(tf, np, [0], [2, 2], "cubic"),
        "crops-both-names": lambda tf, np: _cropped(tf, np, [0], [2, 2], box_indices=[0]),
        "crops-counts": lambda tf, np: _cropped(tf, np, [0, 1], [2, 2]),
        "drawn-2": lambda tf, np: _drawn(tf, np, 2),
        "drawn-many-on-one": lambda tf, np: _drawn(tf, np, boxes=[_BOX, _BOX]),
        "suppressed-padded": lambda tf, np: [
            *_padded(tf, np, 30, iou_threshold=0.3, pad_to_max_output_size=True),
            *_padded(tf, np, 30, score_threshold=0.2),
        ],
        "suppressed-batch": lambda tf, np: list(_padded(tf, np, 2, 20, pad_to_max_output_size=True)),
        "suppressed-batch-plain": lambda tf, np: _padded(tf, np, 2, 20),
        "glimpses": lambda tf, np: [
            tf.image.extract_glimpse(_pictures(tf, np), [2, 3], [[0.3, 0.4], [0.5, 0.6]], centered)
            for centered in (True, False)
        ],
        "glimpses-beyond": lambda tf, np: Plan(
            tf.image.extract_glimpse(_pictures(tf, np), [20, 30], [[0.0, 0.0], [1.0, 1.0]]), random=True
        ),
        "ssim-map": lambda tf, np: tf.image.ssim(
            _pictures(tf, np), _pictures(tf, np) * 0.8, 1.0, 5, 1.0, return_index_map=True
        ),
        "ssim-of-small": lambda tf, np: tf.image.ssim(*[_pictures(tf, np, 1, 5, 6, 3)] * 2, 1.0),
        "ssim-scales": lambda tf, np: tf.image.ssim_multiscale(
            *[_pictures(tf, np, 1, 47, 46, 2) * part for part in (1, 0.7)], 1.0, (0.3, 0.3, 0.4), 6
        ),
        "is-jpeg": lambda tf, np: [tf.image.is_jpeg(s) for s in (b"\xff\xd8\xff\xe0", b"a")],
        "no-image": lambda tf, np: tf.image.decode_image("no image"),
    }
)

FAMILIES = [linalg, images]
