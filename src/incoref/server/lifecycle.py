"""Run the application in this process until it is told to stop, then shut down gracefully.

On the first SIGTERM or SIGINT, new requests are refused (503), accepted ones are finished and states are stored; a
second signal stops the server immediately. Does not configure logging.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from incoref.errors import IncorefError
from incoref.resolver import load
from incoref.server.app import create_app
from incoref.server.limits import Limits
from incoref.server.middleware import MiddlewareOptions
from incoref.server.open_store import open_store
from incoref.server.protocol import bounded_protocol
from incoref.server.service import SessionService

_TOKEN = re.compile(r"[!-~]+")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    host: str = "127.0.0.1"
    port: int = 8000
    """0 picks a free port."""
    store: str = "sqlite:incoref-sessions.db"
    model: Path | None = None
    token: str | None = None
    allow_anyone: bool = False
    """Whether other machines may connect without a token."""
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    trusted_proxies: str = "127.0.0.1"
    """Proxies that are trusted to report the client's address."""
    workers: int | None = None
    """Reader threads; defaults to as many as the model can use."""
    limits: Limits = field(default_factory=Limits)
    grace: float = 30
    """Maximum seconds for a graceful shutdown."""
    log_text: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __post_init__(self) -> None:
        if not self.is_local and self.token is None and not self.allow_anyone:
            raise IncorefError(
                f"{self.host} can be reached from other machines, so anyone could use the server: give a token "
                "(--token, or INCOREF_TOKEN in the environment), or --allow-anyone"
            )
        if self.token is not None and not _TOKEN.fullmatch(self.token):
            raise IncorefError(
                "the token must be printable ASCII without spaces, and not empty: others can't be sent in a header"
            )


def serve(options: ServeOptions, say: Callable[[str], None] = print) -> None:
    """Serve until a signal arrives; ``say`` reports the address once requests are accepted."""
    listener = _bound(options.host, options.port)
    resolver = load(options.model)
    service = SessionService(
        resolver,
        open_store(options.store),
        options.limits,
        workers=options.workers or resolver.model.encoder.readers,
        usual_workers=resolver.model.encoder.calls,
    )
    try:
        _ = service.resolver.model.fingerprint  # read the files now rather than on the first session
        app = create_app(service, _middleware_options(options))
        config = uvicorn.Config(
            app,
            http=bounded_protocol(options.limits),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            ws_max_size=options.limits.body,
            forwarded_allow_ips=options.trusted_proxies,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=max(1, round(options.grace)),
            backlog=2048,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_about_the_server)
        _allow_many_files()
        _collect_seldom()
        asyncio.run(_Server(config, service, options, say).serve([listener]))
    finally:
        service.stop(options.grace)
        listener.close()


def _collect_seldom() -> None:
    """Make full garbage collections short and rare: each one stalls all requests for a tenth of a second or more.

    Objects that exist now are long-lived, so the collector can skip them. Sessions have no reference cycles and are
    freed as soon as they are unreferenced.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, 10 * old)


def _is_about_the_server(entry: logging.LogRecord) -> bool:
    """Whether a uvicorn log message concerns the server; client errors are already answered and counted."""
    return not entry.getMessage().startswith(
        ("ASGI callable returned without completing handshake", "Invalid HTTP request", "Unsupported upgrade request")
    )


def _allow_many_files() -> None:
    """Raise the limit on file descriptors to the maximum: every connection needs one."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, service: SessionService, options: ServeOptions, say: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service, self._options, self._say = service, options, say
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for listener in sockets or ():
            self._say(f"incoref serves http://{_address(listener)} {_who(self._options)}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Only set a flag, as a signal may arrive at any moment."""
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._draining is not None:
            self.force_exit = self.should_exit = True
        else:
            self._draining = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        self._service.stop_taking()
        await asyncio.to_thread(self._service.drained, self._options.grace)
        self.should_exit = True


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # Accepted connections inherit it. Without it, an answer's body, written after its headers, waits 40 ms until
        # the client acknowledges these.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, OverflowError) as error:
        raise IncorefError(f"can't listen on {host}, port {port}: {error}") from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _who(options: ServeOptions) -> str:
    if options.is_local:
        return "to this machine only" + ("" if options.token is None else ", with the token")
    return "to other machines, " + ("with the token" if options.token else "and to ANYONE who can reach it")


def _middleware_options(options: ServeOptions) -> MiddlewareOptions:
    hosts = frozenset(name.lower() for name in options.hosts)
    if options.is_local:
        # Prevents DNS rebinding: a hostile site's own name is not among these, even if it resolves to this machine.
        allowed: frozenset[str] | None = hosts | _LOCAL_NAMES | {options.host}
    else:
        allowed = hosts or None
    return MiddlewareOptions(
        token=options.token,
        hosts=allowed,
        origins=frozenset(options.origins),
        body=options.limits.body,
        log_text=options.log_text,
    )
