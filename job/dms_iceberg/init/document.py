"""The document that `init` writes: its sections around the tables, and its texts as YAML, JSON or Terraform. Pure."""

import json
import re
from typing import Any

import attrs

from dms_iceberg.config.model import BeforeImage, Bronze, BronzeFormat, Change
from dms_iceberg.config.parse import parse_config
from dms_iceberg.discover.comments import one_line
from dms_iceberg.discover.document import with_tables
from dms_iceberg.discover.hcl import for_terraform, print_tables
from dms_iceberg.discover.proposal import Entry
from dms_iceberg.discover.targets import targets
from dms_iceberg.discover.yaml_text import print_document
from dms_iceberg.errors import ConfigError
from dms_iceberg.init.finding import Found

_CATALOG = "catalog: tables in a local folder, for a look. On AWS: {type: glue, warehouse: s3://YOUR-SILVER-BUCKET/}"
_NO_NAME = "shop"


def surroundings(bronze: Bronze) -> dict[str, Any]:
    """Return a document without tables."""
    return {
        "version": 1,
        "pipeline": _pipeline(bronze.uri),
        "bronze": {"uri": bronze.uri, **forms(bronze)},
        "catalog": {"type": "hadoop", "warehouse": "./lake"},
    }


def forms(bronze: Bronze) -> dict[str, Any]:
    """Return what the section says of the files' form and of the columns that DMS adds; whatever files show is written out."""
    change, csv = bronze.change, bronze.csv
    found: dict[str, Any] = {"format": bronze.format.value}
    if bronze.format is BronzeFormat.CSV:
        found["csv"] = {"header": csv.header, "delimiter": csv.delimiter, "rfc4180": csv.rfc4180, "null": csv.null}
    found["change"] = {
        "op_column": change.op_column,
        **({} if change.op_words == Change().op_words else {"op_words": dict(change.op_words)}),
        "timestamp_column": change.timestamp_column,
        "sequence_column": change.sequence_column,
        "stream_position_column": change.stream_position_column,
        "before_image_prefix": change.before_image_prefix,
        **({"before_image_suffix": change.before_image_suffix} if change.before_image_suffix else {}),
        **({} if change.before_image is BeforeImage.REQUIRED else {"before_image": change.before_image.value}),
        **({"load_without_op": True} if change.load_without_op else {}),
    }
    return found


def _pipeline(uri: str) -> str:
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", re.sub(r"/epoch-\d+/*$", "", uri).rpartition("/")[2]) if part]
    return "-".join(parts)[:100] or _NO_NAME


def _about(found: Found, command: str) -> list[str]:
    entries = sum(isinstance(one, Entry) for one in found.proposals)
    rest = len(found.proposals) - entries
    left = f"; {rest} left out, at the end with the reasons" if rest else ""
    return [f"Written by dms-iceberg {command} from samples of the files: {entries} table{'s' * (entries != 1)}{left}.", *found.about]


def yaml_document(found: Found, namespace: str) -> str:
    """Return the document as YAML, with reasons as comments."""
    return print_document([*_about(found, "init"), _CATALOG], surroundings(found.bronze), found.proposals, namespace)


def json_document(found: Found, namespace: str) -> str:
    """Return the document as JSON, which has no comments."""
    entries = [one for one in found.proposals if isinstance(one, Entry)]
    named = targets((entry.table for entry in entries), namespace)
    return json.dumps(with_tables(surroundings(found.bronze), entries, named), ensure_ascii=False, indent=2) + "\n"


def terraform_tables(found: Found, namespace: str | None) -> str:
    """Return the input ``tables`` of the Terraform module, with the form of the files as a comment."""
    form = one_line(json.dumps(forms(found.bronze), ensure_ascii=False))
    about = [*_about(found, "init --hcl"), f"The files, for the settings of the endpoint and of the module's input replication: {form}"]
    return print_tables(about, for_terraform(found.proposals), namespace)


def problems_of(found: Found, namespace: str) -> list[str]:
    """Return what `validate` would say of the document, once the keys are confirmed: with other names or files nothing is expected."""
    entries = [attrs.evolve(one, key_confirmed=True) for one in found.proposals if isinstance(one, Entry)]
    named = targets((entry.table for entry in entries), namespace)
    try:
        parse_config(with_tables(surroundings(found.bronze), entries, named))
    except ConfigError as error:
        return error.problems
    return []
