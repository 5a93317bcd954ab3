# Written by scripts/generated.py.
"""``slim.nets``: the networks for images AlexNet, VGG and ResNet, with the names that checkpoints have."""

from actorsession.compat.v1.contrib.slim.nets import alexnet as alexnet
from actorsession.compat.v1.contrib.slim.nets import resnet_utils as resnet_utils
from actorsession.compat.v1.contrib.slim.nets import resnet_v1 as resnet_v1
from actorsession.compat.v1.contrib.slim.nets import resnet_v2 as resnet_v2
from actorsession.compat.v1.contrib.slim.nets import vgg as vgg

__all__ = [
"alexnet", "resnet_utils", "resnet_v1", "resnet_v2", "vgg"
]
