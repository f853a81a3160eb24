"""The server's listening socket."""

from __future__ import annotations

import socket

import pytest

from incoref.server.lifecycle import _bound


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_do_not_wait_for_acknowledgements(host: str) -> None:
    """An answer's headers and body are written one after the other."""
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with _bound(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
