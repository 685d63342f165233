"""Gold models beside what their queries tell."""

from collections import Counter
from collections.abc import Collection

from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config


def check_models(spark: SparkSession, config: Config, silver: str, waiting: Collection[str] = ()) -> None:
    """Every model but those ``waiting`` for a table is what its query tells now.

    Tables are in the namespace ``silver``, models in one that is called ``gold_`` and so.
    """
    for name in config.gold.keys() - waiting:
        model = config.gold[name]
        spark.sql(f"REFRESH TABLE lake.{name}")
        made = spark.table(f"lake.{name}")
        told = spark.sql(model.sql.replace(f" {silver}.", f" lake.{silver}.").replace(f" gold_{silver}.", f" lake.gold_{silver}."))
        assert made.columns == told.columns
        assert Counter(map(repr, made.collect())) == Counter(map(repr, told.collect())), name
