"""What a comparison of several tables says as a whole."""

import pytest

from dms_iceberg.verify.verdict import TableVerdict, Verdict

EQUAL = TableVerdict(table="public.a", target="silver.a", rows_source=1, rows_silver=1)
OTHER = TableVerdict(table="public.b", target="silver.b", differing={"missing": 1, "surplus": 0, "collided": 0, "different": 0})
UNSETTLED = TableVerdict(table="public.c", target="silver.c", unsettled=1)
SKIPPED = TableVerdict(table="public.d", target="silver.d", skipped="mode history")
ONE_SIDED = TableVerdict(table="public.f", target="silver.f", one_sided=["ssn (at the source, not in silver)"])
FAILED = TableVerdict(table="public.e", target="silver.e", error="public.e: no such table")


@pytest.mark.parametrize(
    ("tables", "equal", "exit_code"),
    [
        ([EQUAL], True, 0),
        ([EQUAL, SKIPPED], True, 0),
        ([SKIPPED], None, 0),
        ([], None, 0),
        ([EQUAL, UNSETTLED], None, 0),
        ([UNSETTLED, OTHER], False, 1),
        ([EQUAL, OTHER], False, 1),
        ([EQUAL, FAILED], False, 1),
        ([EQUAL, ONE_SIDED], False, 1),
        ([ONE_SIDED], False, 1),
    ],
)
def test_all_are_equal_only_if_something_was_compared_and_has_a_result(
    tables: list[TableVerdict], equal: bool | None, exit_code: int
) -> None:
    verdict = Verdict({one.table: one for one in tables}, 1.0)
    assert (verdict.to_document()["equal"], verdict.exit_code) == (equal, exit_code)
