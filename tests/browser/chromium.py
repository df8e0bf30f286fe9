"""A headless Chromium, driven over a pipe by the DevTools protocol: no package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def executable() -> str | None:
    """The browser to use: $BROWSER_PATH, else the first of the usual names; None without one."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page. ``errors``: of scripts; ``requests``: what was asked for."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._in = os.pipe()
        self._out, from_browser = os.pipe()
        # The browser reads file descriptor 3 and writes 4.
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += [
            "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}",
            "--no-first-run",
        ]
        flags += ["--disable-background-networking", "--disable-dev-shm-usage", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", shell, executable(), *flags],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._rest, self._session = 0, b"", None
        self.errors, self.requests, self._loaded = [], [], False
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        given = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = given["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self._in)
        os.close(self._out)
        self.folder.cleanup()

    # ---- The protocol

    def call(self, method: str, **params):
        """Asks the browser; its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._in, data) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _read(self, seconds: float = 60) -> dict:
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            assert select.select([self._out], [], [], max(0, end - time.monotonic()))[0], (
                "no answer"
            )
            part = os.read(self._out, 1 << 20)
            assert part, "the browser ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, params) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(params["args"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    # ---- What tests say

    def open(
        self, path, fragment: str = "", width: int = 1400, height: int = 900, dark=False
    ) -> None:
        """Opens a file and waits until it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        for url in ("about:blank", f"file://{os.path.abspath(path)}{fragment}"):
            self.errors, self.requests, self._loaded = [], [], False
            self.call("Page.navigate", url=url)
            while not self._loaded:
                self._read()

    def run(self, expression: str):
        """The value of a script's expression, as JSON knows it."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, text: str | None = None) -> None:
        """A key as a person presses it."""
        text = text if text is not None else (key if len(key) == 1 else "")
        if key == "Enter":
            text = "\r"
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0)
        shared = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def click(self, selector: str) -> None:
        """A click in the middle of the first element that a selector finds."""
        where = f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2]; }})()"""
        x, y = self.run(where)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path) -> None:
        """What is to be seen now, as a PNG file."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
