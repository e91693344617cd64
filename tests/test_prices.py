"""What tokens cost, and where the configuration says so."""

from typing import Any

import pytest

from mcphost.config import parse
from mcphost.errors import ConfigError
from mcphost.messages import Usage
from mcphost.prices import Price, total
from mcphost.terminal.spending import Spending, written

USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=500_000, cached_tokens=400_000, reasoning_tokens=100)


def configured(**sections: Any) -> Any:
    return parse({"mcpServers": {}, **sections}, source=None, environ={})


def test_cached_tokens_have_their_own_price_or_that_of_the_others():
    assert Price(input=2, output=8).of(USAGE) == pytest.approx(6)
    assert Price(input=2, output=8, cached=0.5).of(USAGE) == pytest.approx(5.4)
    assert Price(input=2, output=8).of(Usage()) == 0


def test_money_is_added_up_by_currency():
    assert total([("USD", 0.00123), ("CNY", 2.5), ("USD", 0.001), ("SEK", 3)]) == "$0.0022 + ¥2.50 + SEK 3.00"
    assert total([]) == ""


def test_prices_and_the_window_are_read():
    config = configured(
        prices={"m": {"input": 1, "output": 2}}, model={"name": "m", "context_tokens": 64_000}
    )
    assert config.prices == {"m": Price(input=1, output=2)}
    assert config.model.context_tokens == 64_000


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"prices": []}, "prices: must be an object of prices by model"),
        ({"prices": {"m": 3}}, "prices.m: must have input and output"),
        ({"prices": {"m": {"input": 1}}}, "prices.m: must have input and output"),
        ({"prices": {"m": {"input": 1, "output": "2"}}}, "prices.m.output: must be a number"),
        ({"prices": {"m": {"input": -1, "output": 2}}}, "prices.m.input: must be a number"),
        ({"prices": {"m": {"input": 1, "output": 2, "currency": 3}}}, "prices.m.currency: must be a string"),
        ({"model": {"context_tokens": "much"}}, "model.context_tokens: must be a whole number of tokens"),
        ({"model": {"context_tokens": True}}, "model.context_tokens: must be a whole number of tokens"),
    ],
)
def test_what_is_wrong_with_them_is_said(sections: dict[str, Any], said: str):
    with pytest.raises(ConfigError) as caught:
        configured(**sections)
    assert said in str(caught.value)


def test_spending_is_told_by_request_turn_and_in_all():
    spending = Spending({"m": Price(input=1, output=2)})
    spending.add(Usage(1000, 10), "x/m")
    spending.begin_turn()
    spending.add(Usage(2000, 20, cached_tokens=500), "x/m")
    spending.add(Usage(0, 0), "other")
    assert (spending.turn.prompt_tokens, spending.session.prompt_tokens) == (2000, 3000)
    assert (spending.context, spending.money()) == (2020, "$0.0031")
    assert written(spending.turn) == "2,000 in (500 cached), 20 out"
