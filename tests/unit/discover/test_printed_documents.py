"""What `discover` prints is a configuration without problems, whatever names the source has; nothing of a comment gets out of it."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings

from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.yaml_document import load_yaml
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.document import document, reasons
from dms_iceberg.discover.hcl import for_terraform, print_hcl
from dms_iceberg.discover.proposal import Entry, LeftOut
from dms_iceberg.discover.propose import propose
from dms_iceberg.discover.targets import targets
from dms_iceberg.discover.yaml_text import print_yaml
from support.catalogs import AWKWARD, catalogs, plain_catalog

OFTEN = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def printed(catalog: Catalog) -> tuple[dict[str, Any], Any]:
    """Return the document, and what the YAML text is read as."""
    proposals = propose(catalog, catalog.tables)
    entries = [one for one in proposals if isinstance(one, Entry)]
    made = document(catalog, entries, targets((entry.table for entry in entries), "silver"))
    return json.loads(json.dumps(made, ensure_ascii=False)), load_yaml(print_yaml(catalog, proposals, "silver"), "discover.yaml")


@OFTEN
@given(catalogs())
def test_the_document_is_valid_and_the_same_in_json_and_yaml(catalog: Catalog) -> None:
    made, read = printed(catalog)
    assert made == read
    if made["tables"]:
        config = parse_config(read)
        assert {name: list(table.key) for name, table in config.tables.items()} == {name: t["key"] for name, t in made["tables"].items()}


@OFTEN
@given(catalogs())
def test_every_table_has_an_entry_or_reasons(catalog: Catalog) -> None:
    proposals = propose(catalog, catalog.tables)
    assert [one.table for one in proposals] == [table.full_name for table in catalog.tables]
    assert all(one.reasons for one in proposals if isinstance(one, LeftOut))
    # Every column that must be declared, dropped or written as text has a reason.
    for one in proposals:
        if isinstance(one, Entry):
            assert all(column.why for column in one.declared)
            assert all(why for _, why in (*one.dropped, *one.as_text))
    for text in reasons(proposals):
        assert "\n" not in text
        assert text.isprintable()


@OFTEN
@given(catalogs())
def test_comments_of_hcl_stay_comments(catalog: Catalog) -> None:
    text = print_hcl(catalog, for_terraform(propose(catalog, catalog.tables)), None)
    for line in text.split("\n"):
        assert line.isprintable()
        assert re.match(r'\s*(#|"|\}|\]|\{ |tables = \{|target = "|key +=|columns = \[|drop = \[|load = \{|$)', line), line
        # Without the texts in quotes there is neither a template nor a further comment.
        if not line.lstrip().startswith("#"):
            bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
            assert not set("$%#\\") & set(bare), line


def test_the_awkward_names_are_not_all_left_out() -> None:
    """Or the properties above would say nothing of them."""
    proposals = propose(catalog := plain_catalog(AWKWARD), catalog.tables)
    kept = [one for one in proposals if isinstance(one, Entry)]
    assert len(kept) > 0.7 * len(proposals)
    made, read = printed(catalog)
    assert made == read
    assert len(parse_config(read).tables) == len(kept)
