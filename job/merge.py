"""What Glue and spark-submit start: job arguments in, the dms-iceberg command line out. Glue's own arguments are ignored."""

import argparse

from dms_iceberg.cli import main

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--command", default="run")
parser.add_argument("--config", required=True)
parser.add_argument("--table", action="append", default=[])
known, _ = parser.parse_known_args()
try:
    main([known.command, known.config, *(word for table in known.table for word in ("--table", table))])
except SystemExit as end:  # Glue takes any SystemExit for a failure, also that of a good end.
    if end.code:
        raise
