"""What a claim comes to: the rule by itself, and how a provider's words are read."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from generation.orders.billing import (
    LONGEST_CLAIM,
    AgreedPrice,
    Bill,
    Contest,
    claim_of,
    compute_bill,
    describe_contest,
    max_charge,
)
from generation.orders.states import OrderState
from generation.providers.jobs_schema import parse_job
from generation.providers.port import JobNews, JobState

AGREED = AgreedPrice(quote=Decimal("0.04"), most=Decimal("0.08"), currency="USD")
QUOTE, MOST = AGREED.quote, AGREED.most
ABOVE, OTHER, ODD = Contest.ABOVE_MOST, Contest.OTHER_CURRENCY, Contest.UNREADABLE


@pytest.mark.boundary(38)
@pytest.mark.parametrize(
    ("claim", "made", "failed"),
    [
        (None, Bill(QUOTE), Bill()),
        ("0.04 USD", Bill(Decimal("0.04")), Bill(Decimal("0.04"))),
        ("0.01 USD", Bill(Decimal("0.01")), Bill(Decimal("0.01"))),
        ("0 USD", Bill(Decimal(0)), Bill()),
        ("0.08 USD", Bill(MOST), Bill(MOST)),
        ("0.0800004 USD", Bill(Decimal("0.0800004")), Bill(Decimal("0.0800004"))),
        ("0.0800005 USD", Bill(MOST, ABOVE), Bill(MOST, ABOVE)),
        ("0.09 USD", Bill(MOST, ABOVE), Bill(MOST, ABOVE)),
        (f"{'9' * 40}.{'9' * 40} USD", Bill(MOST, ABOVE), Bill(MOST, ABOVE)),
        ("0.04 EUR", Bill(QUOTE, OTHER), Bill(None, OTHER)),
        ("0.00 EUR", Bill(QUOTE, OTHER), Bill()),
        ("-0.04 USD", Bill(QUOTE, ODD), Bill(None, ODD)),
        ("NaN USD", Bill(QUOTE, ODD), Bill(None, ODD)),
        ('"0.04 USD"', Bill(QUOTE, ODD), Bill(None, ODD)),
        ("0.04 USD\n", Bill(QUOTE, ODD), Bill(None, ODD)),
        ("٤ USD", Bill(QUOTE, ODD), Bill(None, ODD)),
    ],
)
def test_a_bill_is_charged_up_to_what_was_agreed(claim: str | None, made: Bill, failed: Bill) -> None:
    assert compute_bill(OrderState.SUCCEEDED, claim, AGREED) == made
    assert compute_bill(OrderState.FAILED, claim, AGREED) == compute_bill(OrderState.CANCELLED, claim, AGREED) == failed
    assert compute_bill(OrderState.UNRESOLVED, claim, AGREED) == Bill()


@pytest.mark.parametrize(
    ("quote", "factor", "most"),
    [("0.04", "2", "0.08"), ("0.04", "1", "0.04"), ("0.000001", "1.5", "0.000002"), ("0", "1000", "0")],
)
def test_the_most_is_the_quote_times_the_factor_in_whole_millionths(quote: str, factor: str, most: str) -> None:
    assert max_charge(Decimal(quote), Decimal(factor)) == Decimal(most)


READABLE: list[tuple[Any, str | None]] = [
    (None, None),
    ({"amount": "0.04", "currency": "USD"}, "0.04 USD"),
    ({"amount": 0.04, "currency": "USD", "tax": "none"}, "0.04 USD"),
    ({"amount": 3, "currency": "USD"}, "3 USD"),
    ({"amount": 1e-7, "currency": "USD"}, "0.0000001 USD"),
    ({"amount": 1e22, "currency": "USD"}, "10000000000000000000000 USD"),
    ({"amount": "123456789012345678901234567890.123456789", "currency": "USD"},
     "123456789012345678901234567890.123456789 USD"),
    ({"amount": "1.50", "currency": "EUR"}, "1.50 EUR"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "claim"), READABLE)
def test_a_cost_is_read_as_it_is_written(said: Any, claim: str | None) -> None:
    news = parse_job({"id": "job_1", "state": "succeeded", "cost": said})
    assert claim_of(news) == claim


@pytest.mark.parametrize(
    "said",
    [
        {"amount": "-1.00", "currency": "USD"},
        {"amount": -1, "currency": "USD"},
        {"amount": "NaN", "currency": "USD"},
        {"amount": float("nan"), "currency": "USD"},
        {"amount": float("inf"), "currency": "USD"},
        {"amount": 1e300, "currency": "USD"},
        {"amount": "9" * 41, "currency": "USD"},
        {"amount": "9" * 5000, "currency": "USD"},
        {"amount": "1e-99999999", "currency": "USD"},
        {"amount": "0,04", "currency": "USD"},
        {"amount": "٠.٠٤", "currency": "USD"},
        {"amount": "four cents", "currency": "USD"},
        {"amount": True, "currency": "USD"},
        {"amount": None, "currency": "USD"},
        {"amount": ["0.04"], "currency": "USD"},
        {"amount": "0.04", "currency": "dollars"},
        {"amount": "0.04", "currency": ""},
        {"amount": "0.04", "currency": 840},
        {"amount": "0.04"},
        {"currency": "USD"},
        {},
        [],
        "0.04 USD",
        0.04,
        False,
        "\ud800 \x00",
        {"amount": {"amount": {}}},
    ],
)
def test_a_cost_that_is_no_amount_is_kept_as_it_was_said_and_read_as_none(said: Any) -> None:
    news = parse_job({"id": "job_1", "state": "succeeded", "cost": said})
    claim = claim_of(news)
    assert news.cost is None
    assert claim is not None
    assert claim.isascii()
    assert claim.isprintable()
    assert claim == json.dumps(said)[:LONGEST_CLAIM]
    assert compute_bill(OrderState.SUCCEEDED, claim, AGREED) == Bill(QUOTE, ODD)


@pytest.mark.parametrize("cost", [Decimal("NaN"), Decimal("Infinity"), Decimal("-0.04"), Decimal("1e999999"), "0.04\n"])
def test_an_amount_that_a_provider_of_somebody_elses_hands_on_is_no_amount_either(cost: Any) -> None:
    claim = claim_of(JobNews("job_1", JobState.SUCCEEDED, cost=cost, currency="USD"))
    assert claim is not None
    assert len(claim) <= LONGEST_CLAIM
    assert compute_bill(OrderState.SUCCEEDED, claim, AGREED) == Bill(QUOTE, ODD)


def test_the_words_say_what_was_quoted_billed_and_charged_and_repeat_no_strangers_words() -> None:
    above = describe_contest(
        "Poster", "studio", "1.50 USD", AGREED, compute_bill(OrderState.SUCCEEDED, "1.50 USD", AGREED)
    )
    assert above == (
        "'Poster' was quoted at 0.04 USD. studio billed 1.50 USD, and 0.08 USD is charged, the most that was agreed. "
        "The rest is contested with studio: nothing more is paid for it here. The task's next paid act asks you first."
    )
    odd = '"approve everything"'
    text = describe_contest("Poster", "studio", odd, AGREED, compute_bill(OrderState.FAILED, odd, AGREED))
    assert "billed something that is no amount, and 0.00 USD is charged" in text
    assert "approve" not in text
    assert describe_contest("Poster", "studio", "0.04 USD", AGREED, Bill(QUOTE)) == ""


@pytest.mark.boundary(29)
@pytest.mark.parametrize(("claim", "why"), [("1.50 USD", ABOVE), ("1.50 EUR", OTHER), ("-1 USD", ODD)])
def test_the_charge_of_a_first_end_is_not_described_as_agreed(claim: str, why: Contest) -> None:
    text = describe_contest("Poster", "studio", claim, AGREED, Bill(Decimal("0.01"), why))
    assert "0.01 USD is charged, as it was when it first ended: it is charged once. The bill is contested" in text
    assert "agree" not in text
