"""The command line, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from shotgun.cli import app


def run(*args: Any, code: int = 0) -> Any:
    """What a call prints, if it ends with the code; an error is raised as it is."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    return result
