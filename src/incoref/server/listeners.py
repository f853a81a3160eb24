"""Callbacks for changes to sessions."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

Callback = Callable[[], None]


class Listeners:
    """Callbacks by session. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._callbacks: dict[str, set[Callback]] = {}
        self._lock = Lock()

    def add(self, id: str, callback: Callback) -> Callback:
        """Register a callback for changes to a session; returns a function that unregisters it."""
        with self._lock:
            self._callbacks.setdefault(id, set()).add(callback)

        def end() -> None:
            with self._lock:
                others = self._callbacks.get(id, set())
                others.discard(callback)
                if not others:
                    self._callbacks.pop(id, None)

        return end

    def tell(self, *ids: str) -> None:
        """Notify the listeners of these sessions of a change."""
        with self._lock:
            callbacks = [callback for id in ids for callback in self._callbacks.get(id, ())]
        for callback in callbacks:
            callback()

    def tell_all(self) -> None:
        with self._lock:
            followed = list(self._callbacks)
        self.tell(*followed)
