"""Random catalogs with names that a person would never choose: one owner for the tests of what `discover` prints."""

import json
from typing import Any

from hypothesis import strategies as st

from dms_iceberg.discover.catalog import Catalog, Column, Generated, Identity, Index, Kind, Table
from dms_iceberg.dms.types import DmsType
from dms_iceberg.dms.types import Kind as DmsKind
from dms_iceberg.source.address import Engine

AWKWARD = (
    *("order", "null", "Null", "yes", "~", "true", "1e5", "0x1f", ".inf", "2024-01-31", "-", "- x", "#", "# x", "key: v", "a #b"),
    *("?", "*a", "&a", "!t", "|", ">", "@x", "%", "{", "}", "[", "]", "a,b", "'", '"', '"""', "a'b", 'a"b', "\\", "\\n"),
    *("`", "``", "${", "${x}", "$${x}", "$", "$$", "%{", "%{if true}", "%%{", '${file("x")}', "for", "each.key", "a.b", "a..b"),
    *(".a", "a ", " a", " ", "\t", "a\nb", "a\r\nb", "\x7f", "\x85", "\u2028", "\ufeff", "é", "e\u0301", "ß", "\u0130", "\u0131"),
    *("名前", "🙂", "Op", "op", "dms_commit_ts", "DMS_CHANGE_SEQ", "_cdc_x", "_metadata", "_file", "_pos", "__row_from_source"),
    *("BI_id", "bi_order", "BI_", "bi_bi_x", "awsdms_x", "<<EOT", "<<", "/", "a/b", "//", "/*", "x" * 63),
)
_CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
NAMES = st.one_of(st.sampled_from(AWKWARD), st.sampled_from(("id", "at", "tool")), st.text(_CHARACTERS, min_size=1, max_size=8))
_TYPES: tuple[tuple[Engine, dict[str, Any]], ...] = (
    (Engine.POSTGRESQL, {"type": "int4", "shown": "integer", "dms": DmsType(DmsKind.INT4)}),
    (Engine.POSTGRESQL, {"type": "timestamp", "shown": "timestamp without time zone", "dms": DmsType(DmsKind.DATETIME)}),
    (Engine.POSTGRESQL, {"type": "time", "shown": "time without time zone", "dms": DmsType(DmsKind.TIME)}),
    (Engine.POSTGRESQL, {"type": "text", "shown": "text", "dms": DmsType(DmsKind.NCLOB)}),
    (Engine.POSTGRESQL, {"type": "mood", "shown": '"mo\nod"', "built_in": False, "dms": DmsType(DmsKind.STRING)}),
    (Engine.MYSQL, {"type": "datetime", "shown": "datetime", "zero_dates": True, "dms": DmsType(DmsKind.DATETIME)}),
    (Engine.MYSQL, {"type": "bigint", "shown": "bigint(20) unsigned", "dms": DmsType(DmsKind.UINT8)}),
    (Engine.MYSQL, {"type": "tinyint", "shown": "tinyint(1)", "dms": DmsType(DmsKind.INT1)}),
    (Engine.MYSQL, {"type": "point", "shown": "point", "dms": None}),
)


@st.composite
def tables(draw: st.DrawFn, engine: Engine, number: int) -> Table:
    """A table of any kind, most of them with a key."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    types = [values for of, values in _TYPES if of is engine]
    columns = [
        Column(
            name=name,
            nullable=place > 0 and draw(st.booleans()),
            generated=draw(st.sampled_from(Generated)) if place > 0 and draw(st.integers(0, 4)) == 0 else Generated.NO,
            **draw(st.sampled_from(types)),
        )
        for place, name in enumerate(names)
    ]
    key = names[: draw(st.integers(1, min(2, len(names))))]
    primary = draw(st.integers(0, 4)) > 0
    unusual = draw(st.integers(0, 9)) == 0
    return Table(
        schema=draw(NAMES),
        # In most catalogs no table is another's namesake.
        name=draw(NAMES) + draw(st.sampled_from(("", f"_{number}"))),
        kind=draw(st.sampled_from(Kind)) if unusual else Kind.TABLE,
        columns=tuple(columns),
        unique=(Index(name=draw(NAMES), columns=tuple(key), primary=primary, identity=True),) if draw(st.integers(0, 5)) else (),
        identity=Identity.PRIMARY_KEY if engine is Engine.POSTGRESQL and not unusual else Identity.FULL,
    )


@st.composite
def catalogs(draw: st.DrawFn, most: int = 6) -> Catalog:
    """A catalog of tables with awkward names."""
    engine = draw(st.sampled_from(Engine))
    found = [draw(tables(engine, number)) for number in range(draw(st.integers(1, most)))]
    unique = {table.full_name: table for table in found}
    return Catalog(engine=engine, database=draw(NAMES), tables=tuple(unique.values()))


def plain_catalog(names: tuple[str, ...]) -> Catalog:
    """A catalog in which each name is that of a schema, a table, a key column and a wall clock."""
    integer, clock = DmsType(DmsKind.INT4), DmsType(DmsKind.DATETIME)
    return Catalog(
        engine=Engine.POSTGRESQL,
        database="shop",
        tables=tuple(
            table
            for number, name in enumerate(names)
            for table in (
                Table(schema=name, name=f"t{number}", columns=(_id("id", integer),), unique=(_primary("id"),)),
                Table(schema="s", name=f"{name}{number}", columns=(_id("id", integer),), unique=(_primary("id"),)),
                Table(schema="k", name=f"t{number}", columns=(_id(name, integer),), unique=(_primary(name),)),
                Table(
                    schema="c",
                    name=f"t{number}",
                    columns=(
                        _id("the key", integer),
                        Column(name=name, type="timestamp", shown="timestamp", nullable=True, dms=clock),
                        Column(name=f"{name}\u00b7", type="time", shown="time", nullable=True, dms=DmsType(DmsKind.TIME)),
                        Column(name=f"{name}_", type="int4", shown="integer", nullable=True, dms=integer, generated=Generated.STORED),
                    ),
                    unique=(_primary("the key"),),
                ),
            )
        ),
    )


def _id(name: str, type_: DmsType) -> Column:
    return Column(name=name, type="int4", shown="integer", nullable=False, dms=type_)


def _primary(name: str) -> Index:
    return Index(name="pk", columns=(name,), primary=True)


def without_nulls(text: str) -> Any:
    """Return a JSON document without the members that are null, which Terraform counts as left out."""
    return json.loads(text, object_hook=lambda members: {key: value for key, value in members.items() if value is not None})
