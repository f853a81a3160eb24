"""Prometheus metrics, in a registry per server, so that several servers in one process count separately."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self.requests = counter(
            "incoref_requests_total", "Requests, by route, method and status.", ["route", "method", "status"]
        )
        self.request_seconds = histogram(
            "incoref_request_seconds", "Time from a request to the end of its response.", ["route"]
        )
        self.command_seconds = histogram("incoref_command_seconds", "Execution time of a command, excluding waiting.")
        self.sentences = counter("incoref_sentences_total", "Sentences read.")
        self.tokens = counter("incoref_tokens_total", "Tokens read.")
        self.evictions = counter(
            "incoref_evictions_total",
            "Entities evicted by sessions, sessions dropped from memory, idle sessions deleted.",
            ["what"],
        )
        self.loads = counter("incoref_session_loads_total", "Sessions loaded from the store.")
        self.refusals = counter("incoref_refusals_total", "Requests refused for lack of capacity.", ["reason"])

    def gauge(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Register a gauge whose value is computed when the metrics are read."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def text(self) -> str:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry).decode()
