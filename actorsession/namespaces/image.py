"""Images: files, sizes, colours, boxes and crops."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.images.augmentation": (
        "random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down "
        "random_hue random_saturation"
    ),
    "actorsession.opsets.images.boxes": "sample_distorted_bounding_box",
    "actorsession.opsets.images.colours": (
        "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation "
        "convert_image_dtype grayscale_to_rgb hsv_to_rgb per_image_standardization "
        "rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb"
    ),
    "actorsession.opsets.images.crops": "crop_and_resize",
    "actorsession.opsets.images.drawing": "draw_bounding_boxes",
    "actorsession.opsets.images.edges": "image_gradients sobel_edges",
    "actorsession.opsets.images.files": "decode_jpeg decode_png encode_jpeg encode_png",
    "actorsession.opsets.images.formats": (
        "decode_and_crop_jpeg decode_bmp decode_gif decode_image extract_jpeg_shape is_jpeg"
    ),
    "actorsession.opsets.images.geometry": (
        "central_crop crop_to_bounding_box flip_left_right flip_up_down pad_to_bounding_box "
        "resize_image_with_crop_or_pad resize_image_with_crop_or_pad=resize_with_crop_or_pad "
        "rot90 transpose_image transpose_image=transpose"
    ),
    "actorsession.opsets.images.glimpses": "extract_glimpse",
    "actorsession.opsets.images.jpeg_quality": "adjust_jpeg_quality random_jpeg_quality",
    "actorsession.opsets.images.patches": ("extract_patches extract_volume_patches"),
    "actorsession.opsets.images.resizing": ("resize_area resize_bicubic resize_bilinear resize_nearest_neighbor"),
    "actorsession.opsets.images.similarity": "psnr ssim ssim_multiscale total_variation",
    "actorsession.opsets.images.sizes": ("ResizeMethod resize_image_with_pad resize_images resize_images=resize"),
    "actorsession.opsets.images.suppression": (
        "combined_non_max_suppression non_max_suppression non_max_suppression_overlaps "
        "non_max_suppression_padded non_max_suppression_with_scores"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
