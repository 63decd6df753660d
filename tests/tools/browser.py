# SPDX-License-Identifier: Apache-2.0
"""A headless browser, driven over its debugging pipe: messages in JSON, ended by a zero byte. Nothing but Python is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


class Browser:
    def __init__(self, width=1400, height=1000):
        name = next((n for n in ("chromium-headless-shell", "chromium") if shutil.which(n)), None)
        if not name:
            raise SystemExit("no chromium-headless-shell; run: make setup")
        self.folder = tempfile.mkdtemp(prefix="ferry-browser-")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Of the page it opens only what this test wrote is inside: the browser's own sandbox, which root cannot have, is not needed.
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-breakpad",
                   f"--user-data-dir={self.folder}/data", f"--window-size={width},{height}", "--remote-debugging-pipe"]
        self.log = open(f"{self.folder}/log", "wb")
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "-", name, *options],
                                        pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env=dict(os.environ, HOME=self.folder))
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError(Path(self.folder, "log").read_text(errors="replace")[-2000:])
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended: " + Path(self.folder, "log").read_text(errors="replace")[-2000:])
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(60)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        end = time.monotonic() + 60
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive(end - time.monotonic()))
        self.value("1")

    def value(self, expression):
        """What an expression of JavaScript comes to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, times=1):
        for count in range(1, times + 1):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=count)
            self.mouse("mouseReleased", x, y, button="left", buttons=0, clickCount=count)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2, button="left", buttons=1)
        self.mouse("mouseMoved", to_x, to_y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", buttons=0, clickCount=1)

    def key(self, name):
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def complaints(self):
        """What went wrong in the page: exceptions, console, the browser's own log (what a policy refused, too)."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description", str(parameters)))
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str(parameters["args"]))
            elif event["method"] == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def end(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
