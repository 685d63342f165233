"""Checks of the gold section: names, SQL, tables that exist, no cycle, and incremental refresh only where it is possible."""

from graphlib import CycleError, TopologicalSorter

from dms_iceberg.config.identifier import check_table_name
from dms_iceberg.config.incremental import incremental_problems
from dms_iceberg.config.model import Config, Model, Refresh
from dms_iceberg.config.model_sql import ModelSqlError, named_columns, references, taken_columns
from dms_iceberg.config.partition import PartitionError, parse_partition
from dms_iceberg.config.problems import Problems, below, item, suggestion
from dms_iceberg.config.property_checks import OWNED_PREFIX


def check_models(config: Config, problems: Problems) -> None:
    """Record every contradiction in the gold section."""
    inputs: dict[str, set[str]] = {}
    for name, model in config.gold.items():
        path = below("gold", name)
        _check_name(name, config, path, problems)
        _check_partitions(model, path, problems)
        for taken in (one for one in model.table_properties if one.startswith(OWNED_PREFIX)):
            problems.add(below(path, "table_properties"), f"'{taken}' cannot be set here; '{OWNED_PREFIX}*' holds the job's own records")
        if model.sql:
            inputs[name] = _check_sql(name, model, config, below(path, "sql"), problems)
    _check_order(inputs, problems)


def model_order(config: Config) -> list[str]:
    """Return the names of the models, each after those that it reads."""
    names = {name.casefold(): name for name in config.gold}
    graph = {name: {names[one.name] for one in references(model.sql) if one.name in names} for name, model in config.gold.items()}
    return list(TopologicalSorter(graph).static_order())


def _check_name(name: str, config: Config, path: str, problems: Problems) -> None:
    if not check_table_name(name, path, config, problems):
        return
    for source, table in config.tables.items():
        if table.target.lower() == name.lower():
            problems.add(path, f"'{name}' is the target of {below('tables', source)}; a model needs a table of its own")
    if other := next((one for one in config.gold if one != name and one.lower() == name.lower()), None):
        problems.add(path, f"'{name}' is also {below('gold', other)}; catalogs do not tell capitals apart")


def _check_partitions(model: Model, path: str, problems: Problems) -> None:
    for index, text in enumerate(model.partition_by):
        try:
            parse_partition(text)
        except PartitionError as error:
            problems.add(item(below(path, "partition_by"), index), str(error))


def _check_sql(name: str, model: Model, config: Config, path: str, problems: Problems) -> set[str]:
    """Return the models that this one reads."""
    try:
        read = references(model.sql)
        refused = incremental_problems(model.sql, config.gold) if model.refresh is Refresh.INCREMENTAL else []
    except ModelSqlError as error:
        problems.add(path, str(error))
        return set()
    for column in taken_columns(named_columns(model.sql)):
        problems.add(path, f"a column cannot be called {column}: Iceberg has a column of its own with that name; give it another with AS")
    silver = {table.target.casefold(): table.target for table in config.tables.values()}
    models = {one.casefold(): one for one in config.gold}
    known = silver | models
    for one in read:
        if len(one.parts) == 3 and one.parts[0].casefold() != config.catalog.name.casefold():
            problems.add(path, f"'{'.'.join(one.parts)}' is not in catalog '{config.catalog.name}'; a model reads tables of this document")
        elif one.name not in known:
            problems.add(path, f"'{one.name}' is neither the target of a table nor a model; {suggestion(one.name, [*known.values()])}")
        elif (written := ".".join(one.parts[-2:])) != known[one.name]:
            problems.add(path, f"'{written}' is '{known[one.name]}' in this document; write it so: catalogs find no other spelling")
    if not read:
        problems.add(path, "it reads no table")
    for reason in refused:
        problems.add(below(below("gold", name), "refresh"), f"cannot be incremental: {reason}; correct it, or use auto")
    return {models[one.name] for one in read if one.name in models}


def _check_order(inputs: dict[str, set[str]], problems: Problems) -> None:
    try:
        TopologicalSorter(inputs).prepare()
    except CycleError as error:
        circle = error.args[1]
        problems.add(below(below("gold", circle[0]), "sql"), f"reads itself by way of {' <- '.join(circle)}")
