"""Servers in processes of their own, for tests: started, asked, stopped or killed."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

_NURSERY = multiprocessing.get_context("forkserver")
_NURSERY.set_forkserver_preload(["incoref.server.lifecycle"])


class ServerProcess:
    """``incoref serve`` on a free port of this machine; the same port again if it is given."""

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


class QuickServer:
    """What ``incoref serve`` runs, in a process that has the modules already: there at once, for many kills."""

    def __init__(self, model: Path, store: str, port: int = 0) -> None:
        listening, telling = _NURSERY.Pipe(duplex=False)
        self._process = _NURSERY.Process(target=_serve, args=(model, store, port, telling))
        self._process.start()
        telling.close()
        found = re.search(r"http://\S+:(\d+)", listening.recv())
        assert found is not None
        self.url, self.port = found[0], int(found[1])

    def __enter__(self) -> QuickServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As if the power went off."""
        self._process.kill()
        self._process.join()


def _serve(model: Path, store: str, port: int, told: Connection) -> None:
    from incoref.server.lifecycle import ServeOptions, serve

    serve(ServeOptions(port=port, store=store, model=model, workers=2), say=told.send)
