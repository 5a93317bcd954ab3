"""``slim.nets``: networks for images, AlexNet, Inception, VGG and ResNet, with the names of checkpoints."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".alexnet": "*=alexnet",
    ".inception": "*=inception",
    ".resnet_utils": "*=resnet_utils",
    ".resnet_v1": "*=resnet_v1",
    ".resnet_v2": "*=resnet_v2",
    ".vgg": "*=vgg",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
