"""A real redis-server for tests, on a socket in a temporary folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HOW_TO_INSTALL = "needs redis-server; on Debian and Ubuntu: apt-get install redis-server"


@contextmanager
def running(*more: str) -> Iterator[str]:
    """Start a server, with additional settings, and yield its URL. Without redis-server: skip, or fail in CI."""
    program = shutil.which("redis-server")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW_TO_INSTALL)
    # Not in pytest's folder, because socket paths must be short.
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        socket = Path(folder) / "socket"
        settings = ("--port", "0", "--unixsocket", str(socket), "--dir", folder, "--save", "")
        durable = ("--appendonly", "yes", "--appendfsync", "always")
        with subprocess.Popen([program, *settings, *durable, *more], stdout=subprocess.DEVNULL) as server:
            try:
                until = time.monotonic() + 20
                while not socket.exists():
                    assert server.poll() is None and time.monotonic() < until, "redis-server did not start"
                    time.sleep(0.01)
                yield f"unix://{socket}"
            finally:
                server.terminate()
