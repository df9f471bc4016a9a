"""A headless Chromium, driven through a pipe: the DevTools protocol without a library."""

import json
import os
import select
import shutil
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from PIL import Image

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 30.0  # seconds for an answer
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--mute-audio",
)
# the browser reads commands from descriptor 3, and answers on 4
LAUNCH = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """Return the path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser. ``events`` has the messages that were not requested."""

    def __init__(self, program: str, profile: Path):
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(commands), str(answers)]
        self._process = subprocess.Popen(
            [*launch, program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._buffer, self._count, self._session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command, and return its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path: Path) -> None:
        """Open a file, and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def run(self, code: str) -> Any:
        """Return the value of a JavaScript expression, or of the promise it is."""
        options = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        done = self.call("Runtime.evaluate", expression=code, **options)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """Set the size of the window in pixels of the page."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def media(self, **features: str) -> None:
        """Set media features, such as ``prefers_color_scheme="dark"``."""
        values = [{"name": n.replace("_", "-"), "value": v} for n, v in features.items()]
        self.call("Emulation.setEmulatedMedia", features=values)

    def press(self, key: str) -> None:
        """Press a key, such as ``"ArrowRight"``."""
        code = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}[key]
        for kind in ("keyDown", "keyUp"):
            stroke = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type=kind, **stroke)

    def move(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        """Point at a place in an element, as shares of its width and height."""
        left, top, width, height = self.box(selector)
        place = {"x": left + x * width, "y": top + y * height}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)

    def click(self, selector: str) -> None:
        """Click into the middle of an element."""
        left, top, width, height = self.box(selector)
        place = {"x": left + width / 2, "y": top + height / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **place)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Return left, top, width and height of an element that is scrolled into view."""
        found = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        return tuple(found)

    def picture(self, selector: str | None = None) -> np.ndarray:
        """Return the pixels of an element, or of the whole page."""
        options: dict[str, Any] = {"captureBeyondViewport": True}
        if selector:
            left, top, width, height = self.box(selector)
            scroll = self.run("[scrollX, scrollY]")
            place = {"x": left + scroll[0], "y": top + scroll[1]}
            options["clip"] = {**place, "width": width, "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", **options)["data"]
        return np.asarray(Image.open(BytesIO(b64decode(shot)), formats=["PNG"]).convert("RGB"))

    def print_pages(self) -> bytes:
        """Return the page as PDF."""
        return b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def close(self) -> None:
        """End the browser."""
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._in)
            os.close(self._out)

    def _receive(self) -> dict[str, Any]:
        deadline = monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer" if not ready else "it ended")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
