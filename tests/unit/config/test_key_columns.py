"""Which declared column holds a key."""

from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.parse import parse_config
from unit.config.config_documents import changed


def test_key_column() -> None:
    columns = [{"name": "a", "from": "x"}, {"name": "x2", "from": "ORDER_ID"}, {"name": "order_id", "expr": "order_id"}]
    document = changed("tables/public.orders/columns", columns)
    table = parse_config(document).tables["public.orders"]
    assert key_column(table, "Order_Id") is table.columns[1]
    assert key_column(table, "other") is None
