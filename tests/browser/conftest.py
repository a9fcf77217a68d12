"""A real browser: headless Chromium, spoken to through its DevTools protocol over a pipe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Browser:
    """One page of a headless Chromium, and all that it said and asked for."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
        )
        speak = f'exec "$@" 3<&{commands} 4>&{answers}'  # where Chromium expects its pipes
        self._process = subprocess.Popen(
            ["bash", "-c", speak, "bash", program, *options],
            pass_fds=(commands, answers),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._rest = b""
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Open an empty page and listen to it."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = session["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come before its answer are kept."""
        self._count += 1
        call = {"id": self._count, "method": method, "params": params}
        call |= {"sessionId": self._session} if self._session else {}
        os.write(self._out, json.dumps(call).encode() + b"\0")
        while (message := self._receive()).get("id") != self._count:
            self.events.append(message)
        assert "error" not in message, message
        return dict(message["result"])

    def _receive(self) -> Any:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 20)
            assert more, "Chromium has gone"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, file: Path) -> None:
        """Load a page and wait until it is there."""
        self.events.clear()
        self.send("Page.navigate", url=file.as_uri())
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._receive())
            assert not self.seen("Page.javascriptDialogOpening"), "a dialog has opened"

    def seen(self, *methods: str) -> list[dict[str, Any]]:
        """The events of these kinds."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def complaints(self) -> list[Any]:
        """Errors and logs."""
        self.run("0")  # what was said before is heard now
        return self.seen("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")

    def requests(self) -> list[str]:
        """The addresses asked for."""
        self.run("0")
        return [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        self.send("Input.dispatchKeyEvent", type="keyDown", **about)
        self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        where = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.send("Input.dispatchMouseEvent", type="mousePressed", **where)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", **where)

    def look(self, width: int, dark: bool = False) -> None:
        """A window of another width, in the light or in the dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium")
    opened = Browser(program, tmp_path_factory.mktemp("profile"))
    try:
        opened.begin()
        yield opened
    finally:
        opened.close()
