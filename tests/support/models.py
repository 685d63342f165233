"""Gold models beside what their queries tell."""

import random
from collections import Counter
from collections.abc import Collection

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config, Refresh
from dms_iceberg.gold import replace_groups
from dms_iceberg.gold.choice import Choice, Figures


def choose_by_chance(monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> None:
    """Let models with ``auto`` take either way at any point of their refresh: of small tables the full one is always the cheaper."""

    def choose(known: Figures) -> Choice:
        return Choice(chance.choice([Refresh.INCREMENTAL] * 3 + [Refresh.FULL]), f"by chance, of {known}")

    monkeypatch.setattr(replace_groups, "choose", choose)


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
