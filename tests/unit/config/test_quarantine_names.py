"""The names of quarantine tables: no two targets share one."""

import pytest

from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import changed


@pytest.mark.parametrize(("first", "second"), [("shop.eu__people", "shop__eu.people"), ("shop.t", "shop.t__replays")])
def test_targets_that_would_share_a_quarantine(first: str, second: str) -> None:
    """A replay of one table merged the rejected rows of the other."""
    document = changed("catalog", {"warehouse": "wh"})
    document["tables"] = {"public.orders": {"target": first, "key": ["id"]}, "public.lines": {"target": second, "key": ["id"]}}
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    assert f"the quarantine of '{second}' would have a table of tables.\"public.orders\"'s" in str(caught.value)
