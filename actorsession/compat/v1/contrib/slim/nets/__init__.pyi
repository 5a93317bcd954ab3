# Written by scripts/generated.py.
"""``slim.nets``: networks for images, AlexNet, Inception, VGG and ResNet, with the names of checkpoints."""

from actorsession.compat.v1.contrib.slim.nets import (
alexnet as alexnet, inception as inception, resnet_utils as resnet_utils, resnet_v1 as resnet_v1,
resnet_v2 as resnet_v2, vgg as vgg
)


__all__ = [
"alexnet", "inception", "resnet_utils", "resnet_v1", "resnet_v2", "vgg"
]
