"""TensorFlow's ``tf.image`` namespace; the ops are defined in the folder ``images``."""

from __future__ import annotations

from actorsession.ops.images.augmentation import (
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_saturation,
)
from actorsession.ops.images.boxes import sample_distorted_bounding_box
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
    rgb_to_yiq,
    rgb_to_yuv,
    yiq_to_rgb,
    yuv_to_rgb,
)
from actorsession.ops.images.crops import crop_and_resize
from actorsession.ops.images.drawing import draw_bounding_boxes
from actorsession.ops.images.edges import image_gradients, sobel_edges
from actorsession.ops.images.files import decode_jpeg, decode_png, encode_jpeg, encode_png
from actorsession.ops.images.formats import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    extract_jpeg_shape,
    is_jpeg,
)
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
from actorsession.ops.images.glimpses import extract_glimpse
from actorsession.ops.images.jpeg_quality import adjust_jpeg_quality, random_jpeg_quality
from actorsession.ops.images.patches import extract_image_patches, extract_patches
from actorsession.ops.images.resizing import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from actorsession.ops.images.similarity import psnr, ssim, ssim_multiscale, total_variation
from actorsession.ops.images.sizes import ResizeMethod, resize_image_with_pad, resize_images
from actorsession.ops.images.suppression import (
    combined_non_max_suppression,
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
)

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_jpeg_quality", "adjust_saturation", "central_crop", "combined_non_max_suppression",
    "convert_image_dtype", "crop_and_resize", "crop_to_bounding_box", "decode_and_crop_jpeg",
    "decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png",
    "draw_bounding_boxes", "encode_jpeg", "encode_png", "extract_glimpse",
    "extract_image_patches", "extract_jpeg_shape", "extract_patches", "flip_left_right",
    "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb", "image_gradients", "is_jpeg",
    "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
    "non_max_suppression_with_scores", "pad_to_bounding_box", "per_image_standardization",
    "psnr", "random_brightness", "random_contrast", "random_crop", "random_flip_left_right",
    "random_flip_up_down", "random_hue", "random_jpeg_quality", "random_saturation", "resize",
    "resize_area", "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad",
    "resize_image_with_pad", "resize_images", "resize_nearest_neighbor",
    "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv",
    "rot90", "sample_distorted_bounding_box", "sobel_edges", "ssim", "ssim_multiscale",
    "total_variation", "transpose", "transpose_image", "yiq_to_rgb", "yuv_to_rgb",
]  # fmt: skip

# TensorFlow's newer names.
resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image
