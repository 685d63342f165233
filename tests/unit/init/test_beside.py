"""What `init` says of folders beside the tables, of files that it cannot read, and of nothing at all; and that it shows no values."""

from pathlib import Path

import pytest

from dms_iceberg.discover.proposal import LeftOut
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.finding import Found
from dms_iceberg.init.report import report
from dms_iceberg.init.run import examine
from unit.init.test_own_columns import look, write

LOAD = "Op,id,name I,1,Ann I,2,Bob I,3,Cid"
CHANGE = "Op,id,name U,1,Anna I,4,Dan U,2,Rob"
FILES = {"LOAD00000001.csv": LOAD, "20260301-100001000.csv": CHANGE}


def reasons(found: Found) -> str:
    return "\n".join(reason for one in found.proposals if isinstance(one, LeftOut) for reason in one.reasons)


def test_a_folder_above_those_of_several_tasks_is_refused(tmp_path: Path) -> None:
    for task in ("first", "second"):
        write(tmp_path, FILES, f"{task}/shop/orders")
    (tmp_path / "third/empty").mkdir(parents=True)
    with pytest.raises(
        BronzeError, match=r"several folders in it have files of DMS: first, second\. They .* Name the one that you mean"
    ) as raised:
        look(tmp_path)
    assert f"file://{tmp_path}/first/" in str(raised.value)
    assert [one.files.full_name for one in look(tmp_path / "first").tables] == ["shop.orders"]


def test_a_table_that_only_an_older_load_epoch_has_is_named(tmp_path: Path) -> None:
    for folder in ("epoch-1/shop/orders", "epoch-1/shop/lines", "epoch-2/shop/orders"):
        write(tmp_path, FILES, folder)
    found = look(tmp_path)
    assert [one.files.full_name for one in found.tables] == ["shop.orders"]
    warning = f"WARNING: file://{tmp_path}/epoch-1/ has tables that the newest load epoch lacks: shop.lines."
    assert warning in "\n".join(found.about)
    assert warning in "\n".join(look(tmp_path / "epoch-2").about)
    write(tmp_path, FILES, "epoch-2/shop/lines")
    assert "lacks" not in "\n".join(look(tmp_path).about)


def test_a_table_that_only_the_first_load_has_is_named(tmp_path: Path) -> None:
    for folder in ("shop/orders", "shop/lines", "epoch-2/shop/orders"):
        write(tmp_path, FILES, folder)
    found = look(tmp_path)
    assert f"WARNING: file://{tmp_path}/ has tables that the newest load epoch lacks: shop.lines." in "\n".join(found.about)


def test_a_file_that_lies_about_is_no_other_task(tmp_path: Path) -> None:
    write(tmp_path, FILES, "dms/shop/orders")
    write(tmp_path, {"20260301-100001000.csv": CHANGE}, "exports")
    assert [one.files.full_name for one in look(tmp_path).tables] == ["shop.orders"]


def test_tables_that_are_left_out_have_change_files_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, {name: text.partition(" ")[2] for name, text in FILES.items()})
    found = look(tmp_path)
    assert "source_columns" in reasons(found) and "there are no change files yet" not in report(found)


@pytest.mark.parametrize("names", ["Op,op,name", "Op,id,Name,name", "Op,id,id"])
def test_names_that_differ_in_case_only_are_named(names: str, tmp_path: Path) -> None:
    row = ",1,x,y"[: 2 * names.count(",")]
    write(tmp_path, {"LOAD00000001.csv": f"{names} I{row} I{row}", "20260301-100001000.csv": f"{names} U{row} D{row}"})
    assert "which Spark takes for one" in reasons(look(tmp_path))


def test_a_name_that_begins_with_a_digit_is_in_a_header(tmp_path: Path) -> None:
    names = "Op,id,2fa_enabled"
    write(tmp_path, {"LOAD00000001.csv": f"{names} I,1,t I,2,f", "20260301-100001000.csv": f"{names} U,1,f I,3,t"})
    write(tmp_path, FILES, "shop/users")
    found = look(tmp_path)
    assert (reasons(found), found.bronze.csv.header) == ("", True)


def test_an_empty_folder_is_not_taken_for_another(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BronzeError) as raised:
        examine(str(tmp_path / "empty"), None, lambda names: names)
    assert "did you mean" not in str(raised.value) and "?." not in str(raised.value)


def test_a_value_of_the_source_is_not_shown(tmp_path: Path) -> None:
    name = "Jane~Roe~078-05-1120"
    write(
        tmp_path,
        {"LOAD00000001.csv": "Op,id,name,spouse I,1,Ann,Bo I,2,Bob,Al", "20260301-100001000.csv": f"Op,id,name,spouse D,3,{name},{name}"},
    )
    assert "Jane" not in report(look(tmp_path))


def test_no_type_is_proposed_that_spark_lacks(tmp_path: Path) -> None:
    long, longer = f"0.{'1' * 36}", f"0.{'1' * 40}"
    write(
        tmp_path,
        {
            "LOAD00000001.csv": f"Op,id,a,b I,1,{long},{longer} I,2,{long},{longer}",
            "20260301-100001000.csv": f"Op,id,a,b U,1,{long},{longer}",
        },
    )
    shown = report(look(tmp_path))
    assert "a: decimal(38,36)?" in shown and "decimal(38,40)" not in shown
