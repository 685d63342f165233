"""Whose table it is: each table that the job writes carries its owner in its properties, and only the owner writes it.

Two documents for two databases may name one target, and a model may be called like a table of somebody else: each would overwrite rows of
the other. Pure.
"""

import os
from collections.abc import Callable, Mapping
from enum import StrEnum

import attrs

from dms_iceberg.config.identifier import quarantine_names
from dms_iceberg.config.model import EPOCH_FOLDER, Config, Table
from dms_iceberg.config.paths import S3_SCHEMES, local_path, scheme

PIPELINE_PROPERTY = "dms-iceberg.pipeline"
"""Table property with the name of the pipeline that writes the table."""
BRONZE_PROPERTY = "dms-iceberg.bronze"
"""Table property with the folder of that pipeline's files (`bronze_of`)."""
QUARANTINE_PROPERTY = "dms-iceberg.quarantine"
"""Table property of a silver table with the name of the table that holds its rejected rows."""
_OURS = "dms-iceberg."


class Kind(StrEnum):
    """What a table of the job is; the value is the table property that names what the table was made from.

    * ``TABLE``: a silver table, of a source table ``schema.table``.
    * ``MODEL``: a gold model, of the model's own name.
    * ``QUARANTINE``: rejected rows of a source table, or which of them replays have resolved.
    """

    TABLE = "dms-iceberg.source"
    MODEL = "dms-iceberg.model"
    QUARANTINE = "dms-iceberg.quarantine-of"


_MADE_FROM = {
    Kind.TABLE: "made from the source table",
    Kind.MODEL: "made by the gold model",
    Kind.QUARANTINE: "made for the rejected rows of the source table",
}
_WAY_OUT = {
    Kind.TABLE: (
        "The changes of one would overwrite rows of the other. Choose another target, or another warehouse. If the table changes hands, "
        "because the pipeline or the source table was renamed, or bronze was moved with its files, declare it once"
    ),
    Kind.MODEL: (
        "Each would replace the rows of the other. Give the model another name. If it changes hands, because the pipeline was renamed or "
        "bronze was moved, declare it once"
    ),
    Kind.QUARANTINE: (
        "Choose another quarantine.namespace, or drop it if its rows are not needed any more. If the silver table changes hands as well, "
        "it takes its rejected rows along; declare it once"
    ),
}
_OTHER_NAME = {Kind.TABLE: "another target", Kind.MODEL: "another name for the model", Kind.QUARANTINE: "another quarantine.namespace"}


@attrs.frozen(kw_only=True)
class Owner:
    """Who writes a table.

    Attributes:
        kind: what the table is.
        name: what it is made from: a source table ``schema.table``, or the name of a model.
        pipeline: the document's pipeline.
        bronze: folder of the pipeline's files, without that of a load epoch; the same text for the same folder.
        quarantine: name of the table of rejected rows; only of a silver table.
    """

    kind: Kind
    name: str
    pipeline: str
    bronze: str
    quarantine: str = ""

    def properties(self) -> dict[str, str]:
        """Return the table properties that record it."""
        quarantine = {QUARANTINE_PROPERTY: self.quarantine} if self.quarantine else {}
        return {**self._identity, **quarantine}

    @property
    def _identity(self) -> dict[str, str]:
        return {self.kind.value: self.name, PIPELINE_PROPERTY: self.pipeline, BRONZE_PROPERTY: self.bronze}

    @property
    def place(self) -> str:
        """Return where the document names the table."""
        if self.kind is Kind.MODEL:
            return f'gold."{self.name}"'
        return f'tables."{self.name}"' + (".target" if self.kind is Kind.TABLE else "")

    def conflict(self, target: str, properties: Mapping[str, str], evidence: Callable[[], Kind | None]) -> "Conflict | None":
        """Return why a table is not this owner's; None if it is, or if its properties do not tell another one.

        Args:
            target: name of the table.
            properties: its table properties.
            evidence: says what a table is whose properties do not name what it was made from; None for a table of somebody else.
        """
        kind = next((one for one in Kind if one.value in properties), None) or evidence()
        if kind is None:
            return Conflict(
                f"{self.place}: the table {target} is somebody else's: none of its properties begins with {_OURS}, and no snapshot of it "
                f"is of this job, which writes and replaces its own tables only. Choose {_OTHER_NAME[self.kind]}, or rename or drop that "
                "table. Nothing was written."
            )
        former, own = _described(kind, properties), _described(self.kind, self._identity)
        if kind is not self.kind:
            return Conflict(
                f"{self.place}: {target} was {former}, so it cannot be one {own} as well. Choose {_OTHER_NAME[self.kind]}. Nothing was "
                "written."
            )
        different = [name for name, value in self._identity.items() if properties.get(name, value) != value]
        if not different:
            return None
        correct = "If bronze.uri is wrong, correct it. " if different == [BRONZE_PROPERTY] else ""
        return Conflict(
            f"{self.place}: {target} was {former}, and this document's would be one {own}. {correct}{_WAY_OUT[kind]}: "
            f"run --take-over {self.name}. Nothing was written.",
            f"{target}, which was {former}",
        )


@attrs.frozen
class Conflict:
    """Why a table is not the owner's.

    Attributes:
        text: the message.
        former: the table and its owner, if a takeover can be declared; "" if it cannot.
    """

    text: str
    former: str = ""


def _described(kind: Kind, properties: Mapping[str, str]) -> str:
    name = f"{_MADE_FROM[kind]} {properties[kind.value]}" if kind.value in properties else _MADE_FROM[kind].rpartition(" the ")[0]
    pipeline = f" by the pipeline {properties[PIPELINE_PROPERTY]!r}" if PIPELINE_PROPERTY in properties else ""
    bronze = f" with the files below {properties[BRONZE_PROPERTY]}" if BRONZE_PROPERTY in properties else ""
    return f"{name}{pipeline}{bronze}"


def owner_of(config: Config, table: Table) -> Owner:
    """Return the owner of a silver table."""
    quarantine = f"{config.quarantine.namespace}.{quarantine_names(table.target)[0]}"
    return Owner(kind=Kind.TABLE, name=table.source, pipeline=config.pipeline, bronze=bronze_of(config), quarantine=quarantine)


def owner_of_quarantine(config: Config, table: Table) -> Owner:
    """Return the owner of the two tables in the quarantine of a silver table."""
    return Owner(kind=Kind.QUARANTINE, name=table.source, pipeline=config.pipeline, bronze=bronze_of(config))


def owner_of_model(config: Config, name: str) -> Owner:
    """Return the owner of a gold model."""
    return Owner(kind=Kind.MODEL, name=name, pipeline=config.pipeline, bronze=bronze_of(config))


def bronze_of(config: Config) -> str:
    """Return the folder of a document's files, the same text however the document writes it: without the folder of a load epoch."""
    folder = EPOCH_FOLDER.sub("", config.bronze.uri).rstrip("/")
    return f"s3:{folder.partition(':')[2]}" if scheme(folder) in S3_SCHEMES else os.path.realpath(local_path(folder) or "/")


def has_own_properties(properties: Mapping[str, str]) -> bool:
    """Whether the job has set properties of a table."""
    return any(name.startswith(_OURS) for name in properties)
