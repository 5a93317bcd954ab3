"""``tf.python_io``: files of records, written and read without a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from actorsession.compat.v1.compat import as_bytes, as_str_any
from actorsession.config.file_roots import path_text
from actorsession.opsets.parsing.records import COMPRESSIONS, RecordReader, RecordWriter
from actorsession.process_bound import ProcessBound

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """The compression formats of a record file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """The compression settings of a record file.

    Args:
        compression_type: ``"GZIP"``, ``"ZLIB"``, empty, or one of ``TFRecordCompressionType``.
        flush_mode: accepted for compatibility; ``flush`` always writes all data.
        input_buffer_size: accepted for compatibility.
        output_buffer_size: accepted for compatibility.
        window_bits: the binary logarithm of the size of the compression window.
        compression_level: the compression level, 0 to 9.
        compression_method: accepted for compatibility; there is only one method.
        mem_level: zlib's memory level, 1 to 9.
        compression_strategy: zlib's compression strategy.

    Raises:
        ValueError: for an unknown format.
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
        """Return the compression format as a string: empty, ``ZLIB`` or ``GZIP``.

        Args:
            options: options, a string, or one of ``TFRecordCompressionType``.

        Raises:
            ValueError: for an unknown format.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        compression = cls.compression_type_map.get(options, options)
        if compression not in COMPRESSIONS:
            raise ValueError(f'Not a valid compression_type: "{options}"')
        return str(compression)

    def _settings(self) -> dict[str, int]:
        """Return the further settings for the record writer."""
        chosen = {
            "level": self.compression_level,
            "mem_level": self.mem_level,
            "strategy": self.compression_strategy,
            "window": self.window_bits,
        }
        return {key: abs(value) for key, value in chosen.items() if value is not None}


class TFRecordWriter(ProcessBound):
    """A writer of a record file, which is created or replaced.

    Args:
        path: the file.
        options: ``TFRecordOptions``, or only the compression format.

    Raises:
        NotFoundError: if the folder of the file does not exist.
        ValueError: for an unknown compression format.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        kind = TFRecordOptions.get_compression_type_string(options)
        self._writer = RecordWriter(path_text(path), kind, **options._settings())

    def write(self, record: Any) -> None:
        """Append a record: bytes, or text, which is written as UTF-8.

        Raises:
            FailedPreconditionError: after ``close``.
            TypeError: for any other value.
        """
        self._writer.write(as_bytes(record))

    def flush(self) -> None:
        """Write buffered records to the file, so that others can read them.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        self._writer.flush()

    def close(self) -> None:
        """Write buffered records and close the file; further calls have no effect."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Return an iterator over the records of a file.

    Args:
        path: the file.
        options: ``TFRecordOptions``, or only the compression format.

    Raises:
        DataLossError: at a damaged or truncated record, with its offset.
        NotFoundError: if the file does not exist.
        ValueError: for an unknown compression format.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    return RecordReader(as_str_any(path), kind)
