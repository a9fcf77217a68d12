"""Files that may be compressed: .gz, .xz, .bz2, .zst; and how much a file may become in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

CHUNK = 1 << 20  # bytes that are read at a time
_PIECE = 1 << 10  # and handed to zstandard, which makes up to 32768 times as many of them at once
_LEAST, _RATIO = 1 << 28, 100


def most_bytes(size: int, given: int | None) -> int:
    """How many bytes a file of that size may become: as given, or the more of 256 MB and 100 times
    its size. A few bytes can claim, or unpack to, more than any memory."""
    return max(_LEAST, _RATIO * size) if given is None else given


def too_large(size: int, most: int) -> ValueError:
    """The error for a file that becomes more."""
    return ValueError(
        f"becomes {size} bytes or more; max_bytes, which allows {most}, may be raised"
    )


class _Limited(RawIOBase):
    """Refuses to go on where more comes out of a file than may."""

    def __init__(self, file: Any, most: int) -> None:
        self._file, self._most, self._count = file, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = self._file.readinto(buffer)
        self._count += size
        if self._count > self._most:
            raise too_large(self._count, self._most)
        return size

    def fileno(self) -> int:
        return int(self._file.fileno())

    def close(self) -> None:
        self._file.close()
        super().close()


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
            packed = self._packed or self._file.read(_PIECE)
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

    def fileno(self) -> int:
        return self._file.fileno()

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


def open_packed(path: str, max_bytes: int | None = None) -> Any:
    """The file's bytes, decompressed as its suffix tells, and not too many of them."""
    opener = OPENERS.get(Path(path).suffix.lower())
    if opener is None:
        return open(path, "rb")
    most = most_bytes(os.stat(path).st_size, max_bytes)
    return BufferedReader(_Limited(opener(path, "rb"), most), CHUNK)


def packed_bytes(file: Any) -> int:
    """How much of a file that :func:`open_packed` has opened was read, as it is on disk."""
    return os.lseek(file.fileno(), 0, os.SEEK_CUR)


def create_packed(path: str, compressed_as: str) -> Any:
    """A new file, compressed as that suffix tells."""
    return OPENERS.get(Path(compressed_as).suffix.lower(), open)(path, "wb")


def needs(package: str, what: str) -> ImportError:
    """The error for a package that is not installed."""
    return ImportError(f"{what} need {package}: pip install 'shotgun-l1[cli]'")
