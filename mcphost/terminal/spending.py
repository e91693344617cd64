"""Tokens and money: by request, by turn, of the whole chat."""

from collections.abc import Mapping

from mcphost.messages import Usage
from mcphost.prices import Price, total


class Spending:
    """Adds up what requests took. `prices` are by the models' names; where one has none, no money is told."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self._by_model: dict[str, Usage] = {}
        self.rounds: list[Usage] = []
        self.context = 0
        """Tokens that the conversation takes, as the endpoint last told."""

    def begin_turn(self) -> None:
        self.rounds = []

    def add(self, usage: Usage, model: str) -> None:
        """The usage of the next request of the turn."""
        self.rounds.append(usage)
        self._by_model[model] = self._by_model.get(model, Usage()) + usage
        if usage.total_tokens:
            self.context = usage.total_tokens

    @property
    def turn(self) -> Usage:
        return sum(self.rounds, Usage())

    @property
    def session(self) -> Usage:
        return sum(self._by_model.values(), Usage())

    def money(self) -> str:
        """What the chat has cost so far, "" where no price is known."""
        known = {name: price for name in self._by_model if (price := self._price(name))}
        return total((price.currency, price.of(self._by_model[name])) for name, price in known.items())

    def money_of(self, usage: Usage, model: str) -> str:
        price = self._price(model)
        return "" if price is None else total([(price.currency, price.of(usage))])

    def _price(self, model: str) -> Price | None:
        """A model's price, by its whole name or without the provider before it."""
        return self._prices.get(model) or self._prices.get(model.partition("/")[2])


def written(usage: Usage) -> str:
    """`1,200 in (800 cached), 90 out (40 reasoning)`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    reasoning = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    return f"{usage.prompt_tokens:,} in{cached}, {usage.completion_tokens:,} out{reasoning}"
