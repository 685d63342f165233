"""The shop's sample data."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import attrs

CUSTOMERS: Final = 2_000
ORDERS: Final = 5_000

COLUMNS: Final = {
    "customers": ("full_name", "email", "location", "registered", "birth_date", "newsletter"),
    "orders": ("customer_id", "status", "amount", "ordered_at", "promised_for"),
    "order_lines": ("order_id", "line_no", "product", "quantity", "unit_price"),
}
"""The tables in the order of their creation, and the columns that are filled; numbers of customers and orders count from 1."""

_FIRST_NAMES = ("Ana", "Jürgen", "Mei", "Oluwaseun", "Zoë", "Łukasz", "Priya", "Sigríður", "Tomás", "Noor", "Ivo", "Chloé")
_LAST_NAMES = ("Silva", "Müller", "Zhang", "Adeyemi", "O'Neill", "Kowalczyk", "Sharma", "Jónsdóttir", "Núñez", "Haddad")
_PLACES = (
    "Lisbon, Portugal",
    "São Paulo, Brazil",
    "Zürich, Switzerland",
    "Kraków, Poland",
    "Reykjavík, Iceland",
    "Lagos, Nigeria",
    "Chengdu, China",
    "Pune, India",
    "Oaxaca, Mexico",
    "  Cork ,  Ireland ",
    "Washington, D.C., United States",
)
_PRODUCTS = ("Tea, green 100 g", 'Mug "Nordic"', "Honey", "Notebook A5", "Candle", "Linen towel", "Olive oil 0.5 l", "Salt")
_STATUSES = ("new", "paid", "packed", "shipped", "returned")


@attrs.frozen
class Shop:
    """The rows of each table of `COLUMNS`, in the order of their keys."""

    rows: dict[str, list[tuple[Any, ...]]]


def sample_shop(seed: int = 7) -> Shop:
    """Return the shop as it is when the demo begins."""
    dice = random.Random(seed)  # noqa: S311 - sample data
    start = datetime.now(UTC) - timedelta(days=90)
    customers = [customer_values(dice) for _ in range(CUSTOMERS)]
    orders = [order_values(dice, dice.randrange(1, CUSTOMERS + 1), start + timedelta(seconds=n * 1_500)) for n in range(ORDERS)]
    return Shop({"customers": customers, "orders": orders, "order_lines": list(_lines(dice))})


def customer_values(dice: random.Random) -> tuple[Any, ...]:
    """Return a customer as the shop's sign-up form stores it, without a key: dates and place are text."""
    first, last = dice.choice(_FIRST_NAMES), dice.choice(_LAST_NAMES)
    moment = datetime(2019, 1, 1, tzinfo=UTC) + timedelta(minutes=dice.randrange(3_000_000))
    born = datetime(1950, 1, 1, tzinfo=UTC) + timedelta(days=dice.randrange(20_000))
    return (
        f"{' ' * dice.randrange(2)}{first} {last}",
        f"{first}.{last}{dice.randrange(10_000)}@example.com".lower() if dice.random() < 0.95 else None,
        dice.choice(_PLACES) if dice.random() < 0.97 else None,
        f"{moment:%d.%m.%Y %H:%M}",
        f"{born:%d/%m/%Y}" if dice.random() < 0.8 else None,
        dice.random() < 0.4,
    )


def order_values(dice: random.Random, customer: int, moment: datetime) -> tuple[Any, ...]:
    """Return an order of ``customer``, without a key."""
    promised = (moment + timedelta(days=dice.randrange(2, 9))).replace(tzinfo=None, minute=0, second=0, microsecond=0)
    amount = Decimal(dice.randrange(100, 50_000)).scaleb(-2)
    return customer, dice.choice(_STATUSES), amount, moment, promised if dice.random() < 0.9 else None


def line_values(dice: random.Random) -> tuple[Any, ...]:
    """Return product, quantity and price of an order line, without a key."""
    return dice.choice(_PRODUCTS), dice.randrange(1, 9), Decimal(dice.randrange(50, 9_000)).scaleb(-2)


def _lines(dice: random.Random) -> Iterator[tuple[Any, ...]]:
    for order in range(1, ORDERS + 1):
        for line in range(1, dice.randrange(2, 5)):
            yield order, line, *line_values(dice)
