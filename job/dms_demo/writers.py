"""The shop's customers and staff: threads that write to PostgreSQL while everything else runs."""

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import attrs
import psycopg
from psycopg import errors
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from dms_demo.shop import ADD_COLUMN, BAD_AMOUNT, BAD_ORDER, CUSTOMERS, ORDERS, STORY_ORDER, customer_values, line_values, order_values

WRITERS: Final = 4
# About 30 transactions a second per writer: a busy small shop that leaves processor time for the rest.
_PAUSE_SECONDS: Final = 0.03
_ROLLBACK_SHARE: Final = 0.05
_STORY: Final = ("paid", "packed", "shipped", "delivered")
_ALTER_ATTEMPTS: Final = 20
# Orders of the first load below this number are reserved for the story and the bad row.
_FIRST_FREE_ORDER: Final = 10

Connection = psycopg.Connection[Any]


@attrs.define
class Tally:
    """Counts of what the writers did, over all threads; guarded by the lock.

    Attributes:
        conflicts: transactions that PostgreSQL ended because of another one.
    """

    commits: int = 0
    rollbacks: int = 0
    conflicts: int = 0
    statements: int = 0
    key_changes: int = 0
    lock: threading.Lock = attrs.field(factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        """Add to the counts."""
        with self.lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def to_document(self) -> dict[str, int]:
        """Return the counts by name."""
        names = ("commits", "rollbacks", "conflicts", "statements", "key_changes")
        return {name: getattr(self, name) for name in names}


@attrs.frozen
class Event:
    """An event to mark in the report: ``at`` is UTC."""

    at: datetime
    text: str


class Writers:
    """All writing threads: ordinary ones, and one for the order's story, the bad row and the new column.

    Args:
        dsn: the shop.
        seconds: how long they write; the story is spread over this time.

    Attributes:
        tally: what was done so far.
        events: column added, bad row written.
        failure: the error that ended a thread too early, None without one.
    """

    def __init__(self, dsn: str, seconds: float) -> None:
        self._dsn = dsn
        self._seconds = seconds
        self._stop = threading.Event()
        self._clock = threading.Timer(seconds, self._stop.set)
        self._clock.daemon = True
        self._started = 0.0
        self._column_added = threading.Event()
        self.tally = Tally()
        self.events: list[Event] = []
        self.failure: BaseException | None = None
        targets: list[Callable[[], None]] = [lambda n=n: self._trade(n) for n in range(WRITERS)]  # type: ignore[misc]
        self._threads = [threading.Thread(target=self._guard, args=(target,), daemon=True) for target in (*targets, self._write_story)]

    def start(self) -> None:
        """Start all threads, and the clock that ends them."""
        self._started = time.monotonic()
        self._clock.start()
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End all threads after their current transaction, even before their time."""
        self._clock.cancel()
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def done(self) -> bool:
        """Whether the time is over, or a thread failed."""
        return self._stop.is_set()

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            # Kept for `SourceSide.check`: a thread has no caller to raise to.
            self.failure = error
            self._stop.set()

    def _trade(self, number: int) -> None:
        trader = Trader(random.Random(number), number, self._column_added, self.tally)  # noqa: S311 - sample data
        with psycopg.connect(self._dsn) as connection:
            while not self._stop.wait(_PAUSE_SECONDS):
                trader.transaction(connection)

    def _write_story(self) -> None:
        """Write the story; at a third and at half of the time write the bad row and add the new column."""
        acts: list[Callable[[Connection], None]] = [self._write_bad_row, self._add_column]
        steps: list[Callable[[Connection], None]] = [lambda c, s=s: self._set_status(c, s) for s in _STORY]  # type: ignore[misc]
        script = [steps[0], acts[0], steps[1], acts[1], steps[2], steps[3]]
        with psycopg.connect(self._dsn) as connection:
            for step in script:
                # An early stop omits nothing: the report is about these steps.
                self._stop.wait(self._seconds / (len(script) + 1))
                step(connection)
                connection.commit()

    def _set_status(self, connection: Connection, status: str) -> None:
        connection.execute("UPDATE orders SET status = %s WHERE order_id = %s", (status, STORY_ORDER))
        self.tally.add(commits=1, statements=1)

    def _write_bad_row(self, connection: Connection) -> None:
        connection.execute("UPDATE orders SET amount = %s WHERE order_id = %s", (BAD_AMOUNT, BAD_ORDER))
        self.tally.add(commits=1, statements=1)
        self.events.append(Event(datetime.now(UTC), "negative amount written"))

    def _add_column(self, connection: Connection) -> None:
        # ALTER TABLE needs an exclusive lock, and PostgreSQL may choose it as the victim of a deadlock.
        for attempt in Retrying(
            retry=retry_if_exception_type(errors.DeadlockDetected),
            stop=stop_after_attempt(_ALTER_ATTEMPTS),
            before_sleep=lambda _: connection.rollback(),
            reraise=True,
        ):
            with attempt:
                connection.execute(ADD_COLUMN)
        connection.commit()
        self.tally.add(commits=1, statements=1)
        self.events.append(Event(datetime.now(UTC), "column added"))
        self._column_added.set()


class Trader:
    """The behaviour of one writer. It changes only its own orders, so that writers seldom wait for each other.

    An order whose key, or whose line's key, has changed is left alone from then on: a row that gets another key and changes again within
    seconds would take its batch off the direct path, and such rows are rare in a shop.
    """

    def __init__(self, dice: random.Random, number: int, column_added: threading.Event, tally: Tally) -> None:
        self._dice = dice
        self._tally = tally
        self._column_added = column_added
        self._orders = [n for n in range(_FIRST_FREE_ORDER, ORDERS + 1) if n % WRITERS == number]
        self._customers: list[int] = []
        self._actions: tuple[tuple[int, Callable[[Connection], None]], ...] = (
            (30, self._place_order),
            (35, self._change_order),
            (15, self._change_customer),
            (8, self._cancel_order),
            (6, self._sign_up),
            (3, self._renumber_order),
            (2, self._renumber_line),
            (1, self._leave),
        )

    def transaction(self, connection: Connection) -> None:
        """Execute one to three actions in one transaction, which is rolled back now and then."""
        dice = self._dice
        weights = [weight for weight, _ in self._actions]
        actions = dice.choices([action for _, action in self._actions], weights, k=dice.randrange(1, 4))
        known = list(self._orders), list(self._customers)
        try:
            for action in actions:
                action(connection)
            if dice.random() >= _ROLLBACK_SHARE:
                connection.commit()
                self._tally.add(commits=1, statements=len(actions))
                return
            self._tally.add(rollbacks=1)
        except (errors.DeadlockDetected, errors.SerializationFailure):
            self._tally.add(conflicts=1)
        connection.rollback()
        self._orders, self._customers = known

    def _any_order(self) -> int:
        return self._dice.choice(self._orders)

    def _place_order(self, connection: Connection) -> None:
        customer = self._dice.randrange(1, CUSTOMERS + 1)
        row = connection.execute(
            "INSERT INTO orders (customer_id, status, amount, ordered_at, promised_for) VALUES (%s, %s, %s, %s, %s) RETURNING order_id",
            order_values(self._dice, customer, datetime.now(UTC)),
        ).fetchone()
        order = int(row[0]) if row else 0
        for line in range(1, self._dice.randrange(2, 4)):
            connection.execute("INSERT INTO order_lines VALUES (%s, %s, %s, %s, %s)", (order, line, *line_values(self._dice)))
        self._orders.append(order)

    def _change_order(self, connection: Connection) -> None:
        order = self._any_order()
        connection.execute(
            "UPDATE orders SET status = %s, amount = amount + %s WHERE order_id = %s",
            (self._dice.choice(("paid", "packed", "shipped", "returned")), self._dice.randrange(3), order),
        )
        connection.execute("UPDATE order_lines SET quantity = quantity %% 9 + 1 WHERE order_id = %s AND line_no = 1", (order,))

    def _change_customer(self, connection: Connection) -> None:
        customer = self._dice.randrange(1, CUSTOMERS + 1)
        _, email, location, _, _, newsletter = customer_values(self._dice)
        connection.execute(
            "UPDATE customers SET email = %s, location = %s, newsletter = %s, updated_at = now() WHERE customer_id = %s",
            (email, location, newsletter, customer),
        )
        if self._column_added.is_set():
            connection.execute(
                "UPDATE customers SET loyalty_points = coalesce(loyalty_points, 0) + 10 WHERE customer_id = %s",
                (customer,),
            )

    def _cancel_order(self, connection: Connection) -> None:
        # ON DELETE CASCADE deletes the lines too: the log has one delete for each.
        order = self._any_order()
        connection.execute("DELETE FROM orders WHERE order_id = %s", (order,))
        self._orders.remove(order)

    def _renumber_order(self, connection: Connection) -> None:
        """Change a key; ON UPDATE CASCADE changes a part of the lines' composite key."""
        order = self._any_order()
        connection.execute("UPDATE orders SET order_id = nextval('orders_order_id_seq') WHERE order_id = %s", (order,))
        self._orders.remove(order)
        self._tally.add(key_changes=1)

    def _renumber_line(self, connection: Connection) -> None:
        order = self._any_order()
        connection.execute("UPDATE order_lines SET line_no = line_no + 10 WHERE order_id = %s AND line_no = 1", (order,))
        self._orders.remove(order)
        self._tally.add(key_changes=1)

    def _sign_up(self, connection: Connection) -> None:
        row = connection.execute(
            "INSERT INTO customers (full_name, email, location, registered, birth_date, newsletter)"
            " VALUES (%s, %s, %s, %s, %s, %s) RETURNING customer_id",
            customer_values(self._dice),
        ).fetchone()
        if row:
            self._customers.append(int(row[0]))

    def _leave(self, connection: Connection) -> None:
        if self._customers:
            customer = self._customers.pop(self._dice.randrange(len(self._customers)))
            connection.execute("DELETE FROM customers WHERE customer_id = %s", (customer,))
