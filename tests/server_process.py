"""``incoref serve`` as a real process, for tests: started, asked, stopped or killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path


class ServerProcess:
    """A server on a free port of this machine; the same port again if it is given."""

    def __init__(self, model: Path, store: str, *arguments: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "incoref", "serve", "--model", str(model), "--store", store]
        self._process = subprocess.Popen(
            [*command, "--port", str(port), "--workers", "2", "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdout is not None
        self.greeting = self._process.stdout.readline()
        found = re.search(r"http://\S+:(\d+)", self.greeting)
        if found is None:
            raise AssertionError(f"the server did not start: {self._process.communicate()[1]}")
        self.url, self.port = found[0], int(found[1])

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """As if the power went off."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def ask_to_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> tuple[int, str]:
        """Wait for its end: exit code, and what it said on stderr."""
        said = self._process.communicate(timeout=60)[1]
        return self._process.returncode, said
