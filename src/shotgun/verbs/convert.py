"""`shotgun convert`: the same data in another format."""

from __future__ import annotations

from shotgun import io, shards
from shotgun.options import Given
from shotgun.verbs.reading import column, files, read
from shotgun.verbs.telling import CONVERGED, check_outputs


def run(given: Given) -> int:
    """The same data in another format."""
    if given.to == "disk":
        for option in ("weights", "offset", "impute"):
            if getattr(given, option) is not None:
                raise ValueError(f"--{option} does not apply to a matrix on disk")
        how = {"target": column(given.target), "format": given.format, "n_threads": given.threads}
        how["max_bytes"] = given.max_bytes
        if given.output == "-":
            raise ValueError("--to disk makes a folder: give its name")
        shards.convert(files(given), given.output, memory=given.memory, **how)
        return CONVERGED
    check_outputs(given)
    io.write(given.output, read(given), format=given.to)
    return CONVERGED
