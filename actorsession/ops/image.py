"""Images, under TensorFlow's names: the namespace ``image``.

Owns no op of its own; the files whose names begin with ``image_`` do.
"""

from __future__ import annotations

from actorsession.ops.images.boxes import sample_distorted_bounding_box
from actorsession.ops.images.chance import (
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
)
from actorsession.ops.images.colours import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    per_image_standardization,
    rgb_to_grayscale,
    rgb_to_hsv,
)
from actorsession.ops.images.files import decode_jpeg, decode_png, encode_jpeg, encode_png
from actorsession.ops.images.geometry import (
    central_crop,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
    rot90,
    transpose_image,
)
from actorsession.ops.images.measures import non_max_suppression, psnr, total_variation
from actorsession.ops.images.patches import extract_image_patches
from actorsession.ops.images.resizing import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from actorsession.ops.images.sizes import ResizeMethod, resize_image_with_pad, resize_images

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "central_crop", "convert_image_dtype", "crop_to_bounding_box",
    "decode_jpeg", "decode_png", "encode_jpeg", "encode_png", "extract_image_patches",
    "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb", "non_max_suppression",
    "pad_to_bounding_box",
    "per_image_standardization", "psnr", "random_brightness", "random_contrast", "random_crop",
    "random_flip_left_right", "random_flip_up_down", "random_hue", "random_saturation", "resize",
    "resize_area", "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad",
    "resize_image_with_pad", "resize_images", "resize_nearest_neighbor",
    "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv", "rot90",
    "sample_distorted_bounding_box", "total_variation", "transpose",
    "transpose_image",
]  # fmt: skip

# TensorFlow's newer names.
resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image
