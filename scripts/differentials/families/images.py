"""Linear algebra; images with their crops, boxes, colours and measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan, sized

__all__ = ["FAMILIES"]

linalg = Family("linalg")
images = Family("images")


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


def _pictures(tf: Any, np: Any, *size: int) -> Any:
    return tf.constant(reals(np, size or (2, 12, 13, 3), 0, 1))


_BOXES = [
    [0.0, 0.0, 1.0, 1.0],
    [0.1, 0.15, 0.8, 0.9],
    [0.9, 0.2, 0.15, 0.7],
    [-0.3, 0.4, 0.55, 1.4],
    [0.25, 0.5, 0.25, 0.5],
]


def _boxes(tf: Any, np: Any, *shape: int) -> Any:
    """Return boxes whose first corner is the lower one."""
    corners = np.sort(reals(np, (*shape, 2, 2), 0, 1), axis=-2)
    return tf.constant(corners.reshape(*shape, 4))


def _scores(tf: Any, np: Any, *shape: int) -> Any:
    """Return scores that are all different."""
    apart = np.arange(np.prod(shape)).reshape(shape) / 1e6
    return tf.constant((reals(np, shape, 0.01, 1) + apart).astype("float32"))


def _scored(tf: Any, np: Any) -> tuple[Any, Any]:
    return _boxes(tf, np, 30), _scores(tf, np, 30)


def _cropped(tf: Any, np: Any, *rest: Any, boxes: Any = _BOXES[:1], **given: Any) -> Any:
    return tf.image.crop_and_resize(_pictures(tf, np), boxes, *rest, **given)


_METHODS = ("bilinear", "nearest", "cubic")
images.over(
    "crops-{method}-{size}",
    lambda tf, np, method, size: _cropped(tf, np, [0, 1, 0, 1, 1], size, method, -1.0, boxes=_BOXES),
    method=_METHODS,
    size=sized([4, 5], [1, 1], [1, 7], [0, 2]),
)


@images("crops-gradients-{method}", method=_METHODS)
def _gradients_of_crops(tf: Any, np: Any, method: str) -> Any:
    picture, boxes = _pictures(tf, np, 2, 5, 6, 2), tf.constant(_BOXES)
    crops = tf.image.crop_and_resize(picture, boxes, [0, 1, 0, 1, 1], [3, 4], method)
    return tf.gradients(tf.reduce_sum(crops * reals(np, (5, 3, 4, 2))), [picture, boxes])


def _drawn(tf: Any, np: Any, channels: int = 3, boxes: Any = (_BOXES,), **given: Any) -> Any:
    return tf.image.draw_bounding_boxes(np.zeros((1, 9, 8, channels), "float32"), boxes, **given)


images.over("drawn-{channels}", _drawn, channels=(1, 2, 3, 4))
_PARTS = (0.0, 0.3, 0.5, 1.0)
images.over(
    "suppressed-{part}", lambda tf, np, part: tf.image.non_max_suppression(*_scored(tf, np), 12, part, 0.2), part=_PARTS
)
images.over(
    "suppressed-scores-{part}-{sigma}",
    lambda tf, np, part, sigma: list(tf.image.non_max_suppression_with_scores(*_scored(tf, np), 12, part, 0.2, sigma)),
    part=_PARTS,
    sigma=(0.0, 0.2, 0.5),
)
images.over(
    "suppressed-padded-{part}-{pads}",
    lambda tf, np, part, pads: list(
        tf.image.non_max_suppression_padded(*_scored(tf, np), 12, part or 0.1, 0.2, pad_to_max_output_size=pads)
    ),
    part=_PARTS,
    pads=(False, True),
)


@images("suppressed-combined-{part}-{pads}-{clips}", part=_PARTS, pads=(False, True), clips=(False, True))
def _combined(tf: Any, np: Any, part: float, pads: bool, clips: bool) -> Any:
    operands = _boxes(tf, np, 2, 20, 3), _scores(tf, np, 2, 20, 3)
    return list(tf.image.combined_non_max_suppression(*operands, 5, 9, part, 0.2, pads, clips))


def _padded(tf: Any, np: Any, **given: Any) -> Any:
    operands = _boxes(tf, np, 2, 20), _scores(tf, np, 2, 20)
    return tf.image.non_max_suppression_padded(*operands, 6, **given)


@images("glimpses-{centered}-{normalized}", centered=(True, False), normalized=(True, False))
def _glimpses(tf: Any, np: Any, centered: bool, normalized: bool) -> Any:
    offsets = [[0.1, 0.2], [-0.1, 0.3]] if centered else [[0.3, 0.4], [0.5, 0.6]]
    if not centered and not normalized:
        offsets = [[3.0, 4.2], [5.0, 6.0]]
    return tf.image.extract_glimpse(_pictures(tf, np), [2, 3], offsets, centered, normalized)


_COLOURS = ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "sobel_edges")
images.over(
    "{name}",
    lambda tf, np, name: getattr(tf.image, name)(_pictures(tf, np)),
    name={name.replace("_", "-"): name for name in _COLOURS},
)


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
        "crops-of-no-image": lambda tf, np: _cropped(tf, np, [2], [2, 2]),
        "crops-both-names": lambda tf, np: _cropped(tf, np, [0], [2, 2], box_indices=[0]),
        "crops-counts": lambda tf, np: _cropped(tf, np, [0, 1], [2, 2]),
        "drawn-in-colours": lambda tf, np: _drawn(tf, np, colors=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "drawn-at-random": lambda tf, np: tf.image.draw_bounding_boxes(
            np.zeros((3, 11, 17, 3), "float32"), reals(np, (3, 14, 4), -0.5, 1.5)
        ),
        "drawn-many-on-one": lambda tf, np: _drawn(tf, np, boxes=[_BOXES, _BOXES]),
        "suppressed-batch": lambda tf, np: list(_padded(tf, np, pad_to_max_output_size=True)),
        "suppressed-batch-plain": _padded,
        "suppressed-overlaps": lambda tf, np: tf.image.non_max_suppression_overlaps(
            reals(np, (9, 9), 0, 1), reals(np, (9,), 0, 1), 5, 0.7
        ),
        "glimpses-beyond": lambda tf, np: Plan(
            tf.image.extract_glimpse(_pictures(tf, np), [20, 30], [[0.0, 0.0], [1.0, 1.0]]), random=True
        ),
        "yiq-of-two": lambda tf, np: tf.image.rgb_to_yiq(_pictures(tf, np, 4, 2)),
        "gradients": lambda tf, np: list(tf.image.image_gradients(_pictures(tf, np))),
        "gradients-of-one": lambda tf, np: tf.image.image_gradients(_pictures(tf, np, 3, 4, 1)),
        "ssim-map": lambda tf, np: tf.image.ssim(
            _pictures(tf, np), _pictures(tf, np) * 0.8, 1.0, 5, 1.0, return_index_map=True
        ),
        "ssim-of-small": lambda tf, np: tf.image.ssim(*[_pictures(tf, np, 1, 5, 6, 3)] * 2, 1.0),
        "ssim-scales": lambda tf, np: tf.image.ssim_multiscale(
            *[_pictures(tf, np, 1, 47, 46, 2) * part for part in (1, 0.7)], 1.0, (0.3, 0.3, 0.4), 6
        ),
        "is-jpeg": lambda tf, np: [tf.image.is_jpeg(s) for s in (b"\xff\xd8\xff\xe0", b"a")],
        "no-image": lambda tf, np: tf.image.decode_image("no image"),
        "no-bmp": lambda tf, np: tf.image.decode_bmp("BM"),
    }
)

FAMILIES = [linalg, images]
