"""``tf.python_io``: files of records, written and read without a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from actorsession.compat.v1.text import as_bytes, as_str_any
from actorsession.ops.parsing.records import COMPRESSIONS, RecordReader, RecordWriter

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """The forms that the records of a file may be compressed in."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """How the records of a file are compressed.

    Args:
        compression_type: ``"GZIP"``, ``"ZLIB"``, empty, or one of ``TFRecordCompressionType``.
        flush_mode: taken for compatibility; ``flush`` always hands over what was written.
        input_buffer_size: taken for compatibility.
        output_buffer_size: taken for compatibility.
        window_bits: how far the compression looks back, as a power of two.
        compression_level: 0 to 9.
        compression_method: taken for compatibility; there is one.
        mem_level: how much memory the compression takes, 1 to 9.
        compression_strategy: zlib's.

    Raises:
        ValueError: for another form.
    """

    compression_type_map: ClassVar[Mapping[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return the form as a string: empty, ``ZLIB`` or ``GZIP``.

        Args:
            options: options, a string, or one of ``TFRecordCompressionType``.

        Raises:
            ValueError: for another form.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        found = cls.compression_type_map.get(options, options)
        if found not in COMPRESSIONS:
            raise ValueError(f'Not a valid compression_type: "{options}"')
        return str(found)

    def _settings(self) -> dict[str, int]:
        """Return what the writer is told beside the form."""
        chosen = {
            "level": self.compression_level, "mem_level": self.mem_level,
            "strategy": self.compression_strategy, "window": self.window_bits,
        }  # fmt: skip
        return {key: abs(value) for key, value in chosen.items() if value is not None}


class TFRecordWriter:
    """Writes records into a file, which is made or replaced.

    Args:
        path: the file.
        options: ``TFRecordOptions``, or the form of compression alone.

    Raises:
        NotFoundError: if its folder does not exist.
        ValueError: for another form of compression.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        kind = TFRecordOptions.get_compression_type_string(options)
        self._writer = RecordWriter(as_str_any(path), kind, **options._settings())

    def write(self, record: Any) -> None:
        """Append a record: bytes, or text, which is written as UTF-8.

        Raises:
            FailedPreconditionError: after ``close``.
            TypeError: for something else.
        """
        self._writer.write(as_bytes(record))

    def flush(self) -> None:
        """Hand over what was written, so that others can read it.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write what is left and lets go of the file; may be called twice."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file, one after another.

    Args:
        path: the file.
        options: ``TFRecordOptions``, or the form of compression alone.

    Raises:
        DataLossError: at a record that is damaged or cut off, with its offset.
        NotFoundError: if the file does not exist.
        ValueError: for another form of compression.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    return RecordReader(as_str_any(path), kind)
