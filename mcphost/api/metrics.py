"""What Prometheus is told. Labels hold only what the operator configured or a server listed."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mcphost.api.exchange import Exchange
from mcphost.host import Host

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """The figures of one backend, in a registry of its own."""

    def __init__(self, host: Host) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(_Servers(host))
        self.open = Gauge("mcphost_requests_in_progress", "Requests being answered", registry=registry)
        self._requests = Counter(
            "mcphost_requests", "Requests by route and status", ("route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "mcphost_request_seconds", "Time to the end", ("route",), buckets=_SECONDS, registry=registry
        )
        self._first = Histogram(
            "mcphost_first_byte_seconds", "Time to the first byte", buckets=_SECONDS, registry=registry
        )
        self._left = Counter("mcphost_callers_left", "Callers who did not wait", registry=registry)
        self._rounds = Counter("mcphost_rounds", "Requests to the model", registry=registry)
        self._tokens = Counter("mcphost_tokens", "Tokens by kind", ("kind",), registry=registry)
        self._failures = Counter(
            "mcphost_failures", "Requests that ended in an error, by its code", ("code",), registry=registry
        )
        self._calls = Counter(
            "mcphost_calls", "Calls by tool and outcome", ("server", "tool", "outcome"), registry=registry
        )
        self._call_seconds = Histogram(
            "mcphost_call_seconds",
            "Time a call took",
            ("server", "tool"),
            buckets=_SECONDS,
            registry=registry,
        )

    def note(self, exchange: Exchange) -> None:
        """Count a request that has been answered."""
        self._requests.labels(exchange.route, exchange.status).inc()
        self._seconds.labels(exchange.route).observe(exchange.seconds)
        if exchange.stream and exchange.first is not None:
            self._first.observe(exchange.first)
        if exchange.left:
            self._left.inc()
        if exchange.failed:
            self._failures.labels(exchange.code or "none").inc()
        self._rounds.inc(exchange.rounds)
        usage = exchange.usage
        for kind, tokens in (
            ("prompt", usage.prompt_tokens),
            ("completion", usage.completion_tokens),
            ("cached", usage.cached_tokens),
            ("reasoning", usage.reasoning_tokens),
        ):
            self._tokens.labels(kind).inc(tokens)
        for result in exchange.results:
            server, tool = result.server or "", result.tool or ""
            self._calls.labels(server, tool, result.cause or "ok").inc()
            self._call_seconds.labels(server, tool).observe(result.seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Servers(Collector):
    """Which servers are connected, as it is when it is asked for."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterable[GaugeMetricFamily]:
        up = GaugeMetricFamily("mcphost_server_up", "Whether a server is connected", labels=["server"])
        for server in self._host.servers.values():
            if server.spec.enabled:
                up.add_metric([server.name], float(server.state == "ready"))
        yield up
