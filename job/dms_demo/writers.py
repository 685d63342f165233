"""The shop's customers and staff: threads that write to the database while everything else runs."""

import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import attrs
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from dms_demo.database import Database, Session
from dms_demo.sample import CUSTOMERS, ORDERS, customer_values, line_values, order_values
from dms_demo.shop import ADD_COLUMN, BAD_AMOUNT, BAD_ORDER, STORY_ORDER

WRITERS: Final = 4
# About 30 transactions a second per writer: a busy small shop that leaves processor time for the rest.
_PAUSE_SECONDS: Final = 0.03
_ROLLBACK_SHARE: Final = 0.05
_STORY: Final = ("paid", "packed", "shipped", "delivered")
_ALTER_ATTEMPTS: Final = 20
# Orders of the first load below this number are reserved for the story and the bad row.
_FIRST_FREE_ORDER: Final = 10


@attrs.define
class Tally:
    """Counts of what the writers did, over all threads; guarded by the lock.

    Attributes:
        conflicts: transactions that the server ended because of another one.
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
        database: has the shop.
        seconds: how long they write; the story is spread over this time.

    Attributes:
        tally: what was done so far.
        events: column added, bad row written.
        failure: the error that ended a thread too early, None without one.
    """

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
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
        trader = Trader(self._database, random.Random(number), number, self._column_added, self.tally)  # noqa: S311 - sample data
        with self._database.session() as session:
            while not self._stop.wait(_PAUSE_SECONDS):
                trader.transaction(session)

    def _write_story(self) -> None:
        """Write the story; at a third and at half of the time write the bad row and add the new column."""
        acts: list[Callable[[Session], None]] = [self._write_bad_row, self._add_column]
        steps: list[Callable[[Session], None]] = [lambda c, s=s: self._set_status(c, s) for s in _STORY]  # type: ignore[misc]
        script = [steps[0], acts[0], steps[1], acts[1], steps[2], steps[3]]
        with self._database.session() as session:
            for step in script:
                # An early stop omits nothing: the report is about these steps.
                self._stop.wait(self._seconds / (len(script) + 1))
                step(session)
                session.commit()

    def _set_status(self, session: Session, status: str) -> None:
        session.execute("UPDATE orders SET status = %s WHERE order_id = %s", (status, STORY_ORDER))
        self.tally.add(commits=1, statements=1)

    def _write_bad_row(self, session: Session) -> None:
        session.execute("UPDATE orders SET amount = %s WHERE order_id = %s", (BAD_AMOUNT, BAD_ORDER))
        self.tally.add(commits=1, statements=1)
        self.events.append(Event(datetime.now(UTC), "negative amount written"))

    def _add_column(self, session: Session) -> None:
        # ALTER TABLE needs an exclusive lock, and the server may choose it as the victim of a deadlock.
        for attempt in Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Exception) and self._database.is_conflict(error)),
            stop=stop_after_attempt(_ALTER_ATTEMPTS),
            before_sleep=lambda _: session.rollback(),
            reraise=True,
        ):
            with attempt:
                session.execute(ADD_COLUMN)
        session.commit()
        self.tally.add(commits=1, statements=1)
        self.events.append(Event(datetime.now(UTC), "column added"))
        self._column_added.set()


class Trader:
    """The behaviour of one writer. It changes only its own orders, so that writers seldom wait for each other.

    An order whose key, or whose line's key, has changed is left alone from then on: a row that gets another key and changes again within
    seconds would take its batch off the direct path, and such rows are rare in a shop.
    """

    def __init__(self, database: Database, dice: random.Random, number: int, column_added: threading.Event, tally: Tally) -> None:
        self._database = database
        self._dice = dice
        self._tally = tally
        self._column_added = column_added
        self._orders = [n for n in range(_FIRST_FREE_ORDER, ORDERS + 1) if n % WRITERS == number]
        self._customers: list[int] = []
        self._actions: tuple[tuple[int, Callable[[Session], None]], ...] = (
            (30, self._place_order),
            (35, self._change_order),
            (15, self._change_customer),
            (8, self._cancel_order),
            (6, self._sign_up),
            (3, self._renumber_order),
            (2, self._renumber_line),
            (1, self._leave),
        )

    def transaction(self, session: Session) -> None:
        """Execute one to three actions in one transaction, which is rolled back now and then."""
        dice = self._dice
        weights = [weight for weight, _ in self._actions]
        actions = dice.choices([action for _, action in self._actions], weights, k=dice.randrange(1, 4))
        known = list(self._orders), list(self._customers)
        try:
            for action in actions:
                action(session)
            if dice.random() >= _ROLLBACK_SHARE:
                session.commit()
                self._tally.add(commits=1, statements=len(actions))
                return
            self._tally.add(rollbacks=1)
        except Exception as error:
            if not self._database.is_conflict(error):
                raise
            self._tally.add(conflicts=1)
        session.rollback()
        self._orders, self._customers = known

    def _any_order(self) -> int:
        return self._dice.choice(self._orders)

    def _place_order(self, session: Session) -> None:
        customer = self._dice.randrange(1, CUSTOMERS + 1)
        rows = session.execute(
            "INSERT INTO orders (customer_id, status, amount, ordered_at, promised_for) VALUES (%s, %s, %s, %s, %s) RETURNING order_id",
            order_values(self._dice, customer, datetime.now(UTC)),
        )
        order = int(rows[0][0])
        for line in range(1, self._dice.randrange(2, 4)):
            session.execute("INSERT INTO order_lines VALUES (%s, %s, %s, %s, %s)", (order, line, *line_values(self._dice)))
        self._orders.append(order)

    def _change_order(self, session: Session) -> None:
        order = self._any_order()
        session.execute(
            "UPDATE orders SET status = %s, amount = amount + %s WHERE order_id = %s",
            (self._dice.choice(("paid", "packed", "shipped", "returned")), self._dice.randrange(3), order),
        )
        session.execute("UPDATE order_lines SET quantity = quantity %% 9 + 1 WHERE order_id = %s AND line_no = 1", (order,))

    def _change_customer(self, session: Session) -> None:
        customer = self._dice.randrange(1, CUSTOMERS + 1)
        _, email, location, _, _, newsletter = customer_values(self._dice)
        session.execute(
            f"UPDATE customers SET email = %s, location = %s, newsletter = %s, updated_at = {self._database.now} WHERE customer_id = %s",
            (email, location, newsletter, customer),
        )
        if self._column_added.is_set():
            session.execute(
                "UPDATE customers SET loyalty_points = coalesce(loyalty_points, 0) + 10 WHERE customer_id = %s",
                (customer,),
            )

    def _cancel_order(self, session: Session) -> None:
        order = self._any_order()
        for statement in self._database.cancel_order:
            session.execute(statement, (order,))
        self._orders.remove(order)

    def _renumber_order(self, session: Session) -> None:
        """Change a key, and with it a part of the lines' composite key."""
        order = self._any_order()
        for statement in self._database.renumber_order:
            session.execute(statement, (order,))
        self._orders.remove(order)
        self._tally.add(key_changes=1)

    def _renumber_line(self, session: Session) -> None:
        order = self._any_order()
        session.execute("UPDATE order_lines SET line_no = line_no + 10 WHERE order_id = %s AND line_no = 1", (order,))
        self._orders.remove(order)
        self._tally.add(key_changes=1)

    def _sign_up(self, session: Session) -> None:
        rows = session.execute(
            "INSERT INTO customers (full_name, email, location, registered, birth_date, newsletter)"
            " VALUES (%s, %s, %s, %s, %s, %s) RETURNING customer_id",
            customer_values(self._dice),
        )
        self._customers.append(int(rows[0][0]))

    def _leave(self, session: Session) -> None:
        if self._customers:
            customer = self._customers.pop(self._dice.randrange(len(self._customers)))
            session.execute("DELETE FROM customers WHERE customer_id = %s", (customer,))
