"""Images: crops, boxes, colours, and similarity measures."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

images = Family("images")
FAMILIES = [images]


def _pictures(tf: Any, np: Any, *size: int) -> Any:
    return tf.constant(reals(np, size or (2, 12, 13, 3), 0, 1))


_BOXES = [
    [0.0, 0.0, 1.0, 1.0],
    [0.1, 0.15, 0.8, 0.9],
    [0.9, 0.2, 0.15, 0.7],
    [-0.3, 0.4, 0.55, 1.4],
    [0.25, 0.5, 0.25, 0.5],
]
for _method in ("bilinear", "nearest", "cubic"):
    for _size in ([4, 5], [1, 1], [1, 7], [0, 2]):
        images.add(
            f"crops-{_method}-{_size[0]}x{_size[1]}",
            lambda tf, np, method=_method, size=_size: tf.image.crop_and_resize(
                _pictures(tf, np), _BOXES, [0, 1, 0, 1, 1], size, method, -1.0
            ),
        )
    images.add(
        f"crops-gradients-{_method}",
        lambda tf, np, method=_method: _gradients_of_crops(tf, np, method),
    )


def _gradients_of_crops(tf: Any, np: Any, method: str) -> Any:
    picture, boxes = _pictures(tf, np, 2, 5, 6, 2), tf.constant(_BOXES)
    crops = tf.image.crop_and_resize(picture, boxes, [0, 1, 0, 1, 1], [3, 4], method)
    return tf.gradients(tf.reduce_sum(crops * reals(np, (5, 3, 4, 2))), [picture, boxes])


images.add(
    "crops-of-no-image",
    lambda tf, np: tf.image.crop_and_resize(_pictures(tf, np), _BOXES[:1], [2], [2, 2]),
)
images.add(
    "crops-both-names",
    lambda tf, np: tf.image.crop_and_resize(
        _pictures(tf, np), _BOXES[:1], [0], [2, 2], box_indices=[0]
    ),
)
images.add(
    "crops-counts",
    lambda tf, np: tf.image.crop_and_resize(_pictures(tf, np), _BOXES[:1], [0, 1], [2, 2]),
)
for _channels in (1, 2, 3, 4):
    images.add(
        f"drawn-{_channels}",
        lambda tf, np, channels=_channels: tf.image.draw_bounding_boxes(
            np.zeros((1, 9, 8, channels), "float32"), [_BOXES]
        ),
    )
images.add(
    "drawn-in-colours",
    lambda tf, np: tf.image.draw_bounding_boxes(
        np.zeros((1, 9, 8, 3), "float32"), [_BOXES], colors=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    ),
)
images.add(
    "drawn-at-random",
    lambda tf, np: tf.image.draw_bounding_boxes(
        np.zeros((3, 11, 17, 3), "float32"), reals(np, (3, 14, 4), -0.5, 1.5)
    ),
)
images.add(
    "drawn-many-on-one",
    lambda tf, np: tf.image.draw_bounding_boxes(
        np.zeros((1, 9, 8, 3), "float32"), [_BOXES, _BOXES]
    ),
)
for _threshold in (0.0, 0.3, 0.5, 1.0):
    images.add(
        f"suppressed-{_threshold}",
        lambda tf, np, part=_threshold: tf.image.non_max_suppression(
            *_scored(tf, np), 12, part, 0.2
        ),
    )
    for _sigma in (0.0, 0.2, 0.5):
        images.add(
            f"suppressed-scores-{_threshold}-{_sigma}",
            lambda tf, np, part=_threshold, sigma=_sigma: list(
                tf.image.non_max_suppression_with_scores(*_scored(tf, np), 12, part, 0.2, sigma)
            ),
        )
    for _pads in (False, True):
        images.add(
            f"suppressed-padded-{_threshold}-{_pads}",
            lambda tf, np, part=_threshold, pads=_pads: list(
                tf.image.non_max_suppression_padded(
                    *_scored(tf, np), 12, part or 0.1, 0.2, pad_to_max_output_size=pads
                )
            ),
        )
        for _clips in (False, True):
            images.add(
                f"suppressed-combined-{_threshold}-{_pads}-{_clips}",
                lambda tf, np, part=_threshold, pads=_pads, clips=_clips: list(
                    tf.image.combined_non_max_suppression(
                        _boxes(tf, np, 2, 20, 3),
                        _scores(tf, np, 2, 20, 3),
                        5, 9, part, 0.2, pads, clips,
                    )
                ),
            )  # fmt: skip
images.add(
    "suppressed-batch",
    lambda tf, np: list(
        tf.image.non_max_suppression_padded(
            _boxes(tf, np, 2, 20), _scores(tf, np, 2, 20), 6,
            pad_to_max_output_size=True,
        )
    ),
)  # fmt: skip
images.add(
    "suppressed-batch-plain",
    lambda tf, np: tf.image.non_max_suppression_padded(
        _boxes(tf, np, 2, 20), _scores(tf, np, 2, 20), 6
    ),
)
images.add(
    "suppressed-overlaps",
    lambda tf, np: tf.image.non_max_suppression_overlaps(
        reals(np, (9, 9), 0, 1), reals(np, (9,), 0, 1), 5, 0.7
    ),
)


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


for _centered in (True, False):
    for _normalized in (True, False):
        images.add(
            f"glimpses-{_centered}-{_normalized}",
            lambda tf, np, centered=_centered, normalized=_normalized: (
                tf.image.extract_glimpse(
                    _pictures(tf, np),
                    [2, 3],
                    [[0.1, 0.2], [-0.1, 0.3]] if centered else [[0.3, 0.4], [0.5, 0.6]],
                    centered,
                    normalized,
                )
                if centered or normalized
                else tf.image.extract_glimpse(
                    _pictures(tf, np), [2, 3], [[3.0, 4.2], [5.0, 6.0]], False, False
                )
            ),
        )
images.add(
    "glimpses-beyond",
    lambda tf, np: Plan(
        tf.image.extract_glimpse(_pictures(tf, np), [20, 30], [[0.0, 0.0], [1.0, 1.0]]), random=True
    ),
)
for _name in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "sobel_edges"):
    images.add(
        _name.replace("_", "-"),
        lambda tf, np, name=_name: getattr(tf.image, name)(_pictures(tf, np)),
    )
images.add("yiq-of-two", lambda tf, np: tf.image.rgb_to_yiq(_pictures(tf, np, 4, 2)))
images.add("gradients", lambda tf, np: list(tf.image.image_gradients(_pictures(tf, np))))
images.add("gradients-of-one", lambda tf, np: tf.image.image_gradients(_pictures(tf, np, 3, 4, 1)))
for _measure in ("psnr", "ssim"):
    images.add(
        _measure,
        lambda tf, np, name=_measure: getattr(tf.image, name)(
            _pictures(tf, np), _pictures(tf, np) * 0.9, 1.0
        ),
    )
    images.add(
        f"{_measure}-of-bytes",
        lambda tf, np, name=_measure: getattr(tf.image, name)(
            tf.constant(reals(np, (1, 14, 15, 2), 0, 255).astype("uint8")),
            tf.constant(reals(np, (1, 14, 15, 2), 1, 254).astype("uint8")),
            255,
        ),
    )
    images.add(
        f"{_measure}-other-sizes",
        lambda tf, np, name=_measure: getattr(tf.image, name)(
            _pictures(tf, np), _pictures(tf, np, 2, 12, 12, 3), 1.0
        ),
    )
    images.add(
        f"{_measure}-broadcast",
        lambda tf, np, name=_measure: getattr(tf.image, name)(
            _pictures(tf, np), _pictures(tf, np, 1, 12, 13, 3), 1.0
        ),
    )
images.add(
    "ssim-map",
    lambda tf, np: tf.image.ssim(
        _pictures(tf, np), _pictures(tf, np) * 0.8, 1.0, 5, 1.0, return_index_map=True
    ),
)
images.add("ssim-of-small", lambda tf, np: tf.image.ssim(*[_pictures(tf, np, 1, 5, 6, 3)] * 2, 1.0))
images.add(
    "ssim-scales",
    lambda tf, np: tf.image.ssim_multiscale(
        _pictures(tf, np, 1, 47, 46, 2),
        _pictures(tf, np, 1, 47, 46, 2) * 0.7,
        1.0,
        (0.3, 0.3, 0.4),
        6,
    ),
)
images.add("is-jpeg", lambda tf, np: [tf.image.is_jpeg(s) for s in (b"\xff\xd8\xff\xe0", b"a")])
images.add("no-image", lambda tf, np: tf.image.decode_image("no image"))
images.add("no-bmp", lambda tf, np: tf.image.decode_bmp("BM"))
