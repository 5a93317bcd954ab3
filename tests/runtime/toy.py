"""Device types from outside: factories for tests, and real distributions with an entry point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actorsession import ConfigProto
from actorsession.extend import Device, VirtualDevices
from actorsession.runtime.devices import ENTRY_POINTS

PLUGIN = '''
"""A device type as somebody else would write it."""

from actorsession.config import ConfigProto
from actorsession.extend import DeviceAttributes
from actorsession.extend import Device, DeviceFactory, new_incarnation


class Toys(DeviceFactory):
    def list_physical_devices(self):
        return ["/physical_device:TOY:0", "/physical_device:TOY:1"]

    def create_devices(self, device_type, task, count, config):
        assert isinstance(config, ConfigProto)
        return [
            Device(
                DeviceAttributes(
                    name=f"{task}/device:{device_type}:{index}",
                    device_type=device_type,
                    incarnation=new_incarnation(),
                    memory_limit=1 << 20,
                )
            )
            for index in range(count)
        ]

    def supports(self, op_type):
        return op_type != "MatMul"
'''


def write_distribution(
    folder: Path, module: str, source: str, entries: Sequence[str], version: str = "1.0", group: str = ENTRY_POINTS
) -> None:
    """Puts an installed distribution into a folder: a module, and what an installer writes about it.

    Args:
        folder: made if absent; has to be on ``sys.path``.
        module: name of module and distribution.
        source: text of the module.
        entries: lines of the entry-point group, such as ``TOY = module:Class``.
        version: of the distribution.
        group: of the entry points; that of device types if left out.
    """
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n", encoding="utf-8")
    lines = [f"[{group}]", *entries]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


class Toys(VirtualDevices):
    """Virtual devices; the factory keeps the settings with which they were requested."""

    def __init__(self, physical: int = 2, without: Sequence[str] = ()) -> None:
        super().__init__(physical, without=without)
        self.configs: list[ConfigProto] = []

    def create_devices(self, device_type: str, task: str, count: int, config: ConfigProto) -> Sequence[Device]:
        self.configs.append(config)
        return super().create_devices(device_type, task, count, config)
