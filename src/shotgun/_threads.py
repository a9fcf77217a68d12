"""Makes the core's threads visible to threadpoolctl, if that is installed."""

from __future__ import annotations

from typing import Any


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
