"""Threads and threadpoolctl: the core's are made visible to it, BLAS's are limited by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_blas_lock, _blas_users = Lock(), 0
_blas_limit: Any = None


def register_threadpoolctl() -> None:
    """Register a controller with threadpoolctl; costs nothing where it is not installed."""
    try:
        import threadpoolctl
    except ImportError:
        return

    class ShotgunController(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = "shotgun"
        internal_api = "shotgun"
        filename_prefixes = ("_core",)
        check_symbols = ("shotgun_get_num_threads", "shotgun_set_num_threads")

        def get_num_threads(self) -> int:
            return int(self.dynlib.shotgun_get_num_threads())

        def set_num_threads(self, num_threads: int) -> Any:
            return self.dynlib.shotgun_set_num_threads(num_threads)

        def get_version(self) -> str:
            from importlib.metadata import version

            return version("shotgun-l1")

    threadpoolctl.register(ShotgunController)


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """The number of BLAS's threads would change the last bits. Fits may run side by side: the first
    one sets the limit, the last one lifts it."""
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _release_blas()
            _blas_limit = _blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _lift(_blas_limit)


def _lift(limit: Any) -> None:
    """Restore what was before a limit, also if another thread has set it."""
    _release_blas()
    limit.restore_original_limits()
    _release_blas()


def _release_blas() -> None:
    """threadpoolctl >= 3.8 lets only the thread that was first change OpenBLAS, until told."""
    from threadpoolctl import OpenBLASController

    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
