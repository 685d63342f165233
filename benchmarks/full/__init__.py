"""``make bench BENCH=full``: the job beside Delta Lake, Apache Hudi and Iceberg's own MERGE, on the same change files."""
