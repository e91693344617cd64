"""What tokens cost, where the user has said so."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from mcphost.messages import Usage

_MILLION = 1_000_000


class Price(BaseModel):
    """Money for a million tokens of a model, in `currency` (ISO 4217). Without a price of their own, cached
    tokens cost as much as others of the input; reasoning is part of the output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float
    output: float
    cached: float | None = None
    currency: str = "USD"

    def of(self, usage: Usage) -> float:
        """The money for `usage`."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        cached_price = self.input if self.cached is None else self.cached
        fresh = usage.prompt_tokens - cached
        return (fresh * self.input + cached * cached_price + usage.completion_tokens * self.output) / _MILLION


def total(costs: Iterable[tuple[str, float]]) -> str:
    """Amounts of money as a text, each currency for itself: `$0.0123`, `¥0.50 + $1.20`."""
    sums: dict[str, float] = {}
    for currency, amount in costs:
        sums[currency] = sums.get(currency, 0.0) + amount
    return " + ".join(_written(currency, amount) for currency, amount in sums.items())


def _written(currency: str, amount: float) -> str:
    sign = {"USD": "$", "CNY": "¥", "EUR": "€", "GBP": "£"}.get(currency, f"{currency} ")
    return f"{sign}{amount:.2f}" if amount >= 1 or amount == 0 else f"{sign}{amount:.4f}"
