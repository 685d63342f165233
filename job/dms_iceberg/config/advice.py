"""Warnings about a valid document: settings that are probably mistakes, or not ready. ``validate`` prints them and still exits with 0."""

from collections.abc import Iterator

from dms_iceberg.config.model import BronzeFormat, Config, Table
from dms_iceberg.config.model_meaning import random_calls
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.orders import weaker_order
from dms_iceberg.config.problems import below, item
from dms_iceberg.config.salts import unset_salts
from dms_iceberg.config.typed_text import NUMBER, columns_as_types


def advice(config: Config) -> list[str]:
    """Return the warnings of a valid document, each with its key path."""
    weaker = weaker_order(config.bronze.change)
    found = [] if weaker is None else [f"bronze.change: {weaker}."]
    for table in config.tables.values():
        found += [f"{problem} Where the job runs it must be set, or the table fails before it is read." for problem in unset_salts(table)]
        if config.bronze.format is not BronzeFormat.PARQUET:
            found += list(_text_as_types(config, table))
    for name, model in config.gold.items():
        found += [
            f"{below(below('gold', name), 'sql')}: {call}() gives other values at each refresh, and the model is refreshed only when what "
            "it reads has changed. If its values are to stay, compute them from a column (sha2 of a key, say)."
            for call in random_calls(model.sql)
        ]
    return found


def _text_as_types(config: Config, table: Table) -> Iterator[str]:
    """Yield a warning for each column that the filter or a rule uses as another type than text, and that no declaration gives a type."""
    path = table_path(table)
    conditions = [(below(path, "filter"), table.filter, "leaves out the row")] if table.filter else []
    rules = below(path, "rules")
    conditions += [(f"{item(rules, index)}.expr", rule.expr, "lets the row pass") for index, rule in enumerate(table.rules)]
    declared = {column.name.lower(): (index, column) for index, column in enumerate(table.columns)}
    for where, condition, effect in conditions:
        for name, type_ in sorted(columns_as_types(condition).items()):
            index, column = declared.get(name.lower(), (None, None))
            if column is not None and (column.type is not None or column.expr is not None):
                continue
            remedy = f'add {{"name": "{name}", "type": "{type_}"}} to {below(path, "columns")}, with the type it has at the source.'
            if index is not None:
                place = item(below(path, "columns"), index)
                remedy = f'add "type": "{type_}" to {place}, or whatever type it has at the source.'
            elif name.lower() in {one.lower() for one in table.drop}:
                remedy = f"silver leaves it out, so let a rule say {name} IS NULL OR try_cast({name} AS {type_}) IS NOT NULL."
            yield (
                f"{where}: {name!r} is text in files of format {config.bronze.format.value!r}, and a value that is no "
                f"{'number' if type_ == NUMBER else type_} is NULL here, "
                f"which {effect}. To have such rows quarantined, {remedy}"
            )
