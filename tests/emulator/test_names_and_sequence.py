"""Object keys, the change sequence, and type names."""

import datetime as dt

import pytest

from dms_emulator.files import ChangeSequence, DateDelimiter, DatePartition, DateSequence, DmsType, cdc_key, load_key, time_part
from emulator.samples import micros


def test_load_names_count_in_hexadecimal() -> None:
    names = [load_key("public", "orders", number, "csv.gz") for number in (1, 9, 10, 15, 16)]
    assert names == [f"public/orders/LOAD{text}.csv.gz" for text in ("00000001", "00000009", "0000000A", "0000000F", "00000010")]
    assert names == sorted(names)


APRIL = int(dt.datetime(2026, 4, 2, 13, 5, 7, 89_000, tzinfo=dt.UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("sequence", "slash", "underscore"),
    [
        (DateSequence.YYYYMMDD, "2026/04/02", "2026_04_02"),
        (DateSequence.YYYYMMDDHH, "2026/04/02/13", "2026_04_02_13"),
        (DateSequence.YYYYMM, "2026/04", "2026_04"),
        (DateSequence.MMYYYYDD, "04/2026/02", "04_2026_02"),
        (DateSequence.DDMMYYYY, "02/04/2026", "02_04_2026"),
    ],
)
def test_date_folders(sequence: DateSequence, slash: str, underscore: str) -> None:
    def key(delimiter: DateDelimiter) -> str:
        return cdc_key("s", "t", APRIL, "parquet", DatePartition(sequence, delimiter))

    assert key(DateDelimiter.SLASH) == f"s/t/{slash}/20260402-130507089.parquet"
    assert key(DateDelimiter.UNDERSCORE) == f"s/t/{underscore}/20260402-130507089.parquet"
    assert key(DateDelimiter.DASH) == f"s/t/{underscore.replace('_', '-')}/20260402-130507089.parquet"
    assert key(DateDelimiter.NONE) == f"s/t/{underscore.replace('_', '')}/20260402-130507089.parquet"


def test_a_time_zone_moves_folder_and_name() -> None:
    partition = DatePartition("YYYYMMDD", "SLASH", "Asia/Seoul")
    assert cdc_key("s", "t", APRIL + 3_600_000 * 3, "csv", partition) == "s/t/2026/04/03/20260403-010507089.csv"
    assert cdc_key("s", "t", APRIL, "csv") == "s/t/20260402-130507089.csv"


def test_sequence_has_the_steps_of_real_files() -> None:
    sequence = ChangeSequence()
    first = micros("2024-06-12T10:35:53.495770")
    sequence.begin(first)
    assert sequence.advance() == "2024061210355349" + "0000000000000000061"
    assert sequence.advance()[16:] == "0000000000000000065"
    sequence.begin(first + 10_000)
    assert sequence.advance() == "2024061210355350" + "0000000000000000077"
    sequence.begin(first + 20_000)  # a transaction without a row of ours takes no number
    sequence.begin(first + 30_000)
    assert sequence.advance()[16:] == "0000000000000000089"


def test_sequence_rises_also_when_the_clock_goes_back() -> None:
    sequence = ChangeSequence()
    seen = []
    for moment in (50_000_000, 20_000_000, 90_000_000, 60_000_000):
        sequence.begin(moment)
        seen += [sequence.advance(), sequence.advance()]
    assert seen == sorted(seen)
    assert {text[:16] for text in seen} == {time_part(50_000_000), time_part(90_000_000)}
    assert all(len(text) == 35 for text in seen)


def test_time_part_truncates_to_hundredths() -> None:
    assert time_part(micros("2024-06-12T10:28:16.749999")) == "2024061210281674"


@pytest.mark.parametrize("text", ["numeric", "numeric(39,2)", "numeric(4,5)", "int3", "int4 null", ""])
def test_unknown_types_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="DMS type"):
        DmsType.parse(text)


@pytest.mark.parametrize("text", ["int4", "numeric(15,2)", "wstring", "time"])
def test_types_read_back(text: str) -> None:
    assert str(DmsType.parse(text)) == text
