"""``types_pb2`` and ``error_codes_pb2``: numbers of element types and of error codes."""

from __future__ import annotations

from typing import Any

from actorsession.interop.enums import ENUMS

__all__ = ["Code", "DataType"]


class _Enum:
    """An enumeration, as protobuf's modules have them.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self._numbers = ENUMS[name]

    def Name(self, number: int) -> str:
        """Return the name of a number.

        Raises:
            ValueError: if it has none.
        """
        for name, found in self._numbers.items():
            if found == number:
                return name
        raise ValueError(f"no name for {number!r}; there are {self.values()}")

    def Value(self, name: str) -> int:
        """Return the number of a name.

        Raises:
            ValueError: if it has none.
        """
        if name not in self._numbers:
            raise ValueError(f"no number for {name!r}; there are {', '.join(self._numbers)}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """Return the numbers."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """Return the names with their numbers."""
        return list(self._numbers.items())


DataType, Code = _Enum("DataType"), _Enum("Code")


def __getattr__(name: str) -> Any:
    for numbers in ENUMS["DataType"], ENUMS["Code"]:
        if name in numbers:
            return numbers[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
