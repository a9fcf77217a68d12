"""Files that may be compressed: .gz, .xz, .bz2, .zst."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

CHUNK = 1 << 20  # bytes that are read at a time


class _Zstandard(RawIOBase):
    """Decompressed by zstandard, whose own reader takes a file that is cut off for a whole one."""

    def __init__(self, path: str) -> None:
        import zstandard

        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._begun = False
        self._packed, self._ready = b"", memoryview(b"")
        self._file = open(path, "rb")  # noqa: SIM115

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._packed or self._file.read(CHUNK)
            if not packed:
                if self._begun and not self._frame.eof:
                    raise EOFError("it is cut off")
                return 0
            if self._frame.eof:
                self._frame = self._new_frame()
            self._begun = True
            self._ready = memoryview(self._frame.decompress(packed))
            self._packed = self._frame.unused_data
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_zstandard(path: str, mode: str) -> Any:
    try:
        from compression import zstd

        return zstd.open(path, mode)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise needs("zstandard", ".zst files") from None
    if mode == "rb":
        return BufferedReader(_Zstandard(path), CHUNK)  # which reads as much as it is told
    return zstandard.open(path, mode)


def _opener(module: str) -> Callable[[str, str], Any]:
    def opener(path: str, mode: str) -> Any:
        import importlib

        return importlib.import_module(module).open(path, mode)

    return opener


OPENERS: dict[str, Callable[[str, str], Any]] = {
    ".gz": _opener("gzip"),
    ".xz": _opener("lzma"),
    ".bz2": _opener("bz2"),
    ".zst": _open_zstandard,
}


def open_file(path: str, mode: str, compressed_as: str | None = None) -> Any:
    """The file's bytes, decompressed as its suffix tells (or that of `compressed_as`)."""
    return OPENERS.get(Path(compressed_as or path).suffix.lower(), open)(path, mode)


def needs(package: str, what: str) -> ImportError:
    """The error for a package that is not installed."""
    return ImportError(f"{what} need {package}: pip install 'shotgun-l1[cli]'")
