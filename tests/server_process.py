"""Servers in separate processes, for tests that start, stop and kill them."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

_FORK_SERVER = multiprocessing.get_context("forkserver")
_FORK_SERVER.set_forkserver_preload(["incoref.server.lifecycle"])


class ServerProcess:
    """``incoref serve`` on the given port or a free one."""

    def __init__(self, model: Path, store: str, *arguments: str, port: int = 0, package: Path | None = None) -> None:
        """``package`` is a folder with a different build of the package."""
        command = [sys.executable, "-m", "incoref", "serve", "--model", str(model), "--store", store]
        self._process = subprocess.Popen(
            [*command, "--port", str(port), "--workers", "2", "--log-level", "warning", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **({"PYTHONPATH": str(package)} if package else {})},
        )
        assert self._process.stdout is not None
        self.greeting = self._process.stdout.readline()
        address = re.search(r"http://\S+:(\d+)", self.greeting)
        if address is None:
            raise AssertionError(f"the server did not start: {self._process.communicate()[1]}")
        self.url, self.port = address[0], int(address[1])

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()

    def kill(self) -> None:
        """Kill the process without a warning, as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def ask_to_stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def ended(self) -> tuple[int, str]:
        """Wait until the process ends; return its exit code and stderr."""
        errors = self._process.communicate(timeout=60)[1]
        return self._process.returncode, errors


class QuickServer:
    """A server in a forked process with everything imported: quick to start, for tests with many kills."""

    def __init__(self, model: Path, store: str, port: int = 0) -> None:
        receiver, sender = _FORK_SERVER.Pipe(duplex=False)
        self._process = _FORK_SERVER.Process(target=_serve, args=(model, store, port, sender))
        self._process.start()
        sender.close()
        address = re.search(r"http://\S+:(\d+)", receiver.recv())
        assert address is not None
        self.url, self.port = address[0], int(address[1])

    def __enter__(self) -> QuickServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Kill the process without a warning, as a power cut would."""
        self._process.kill()
        self._process.join()


def _serve(model: Path, store: str, port: int, greeting: Connection) -> None:
    from incoref.server.lifecycle import ServeOptions, serve

    serve(ServeOptions(port=port, store=store, model=model, workers=2), say=greeting.send)
