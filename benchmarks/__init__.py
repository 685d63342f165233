"""How long a batch takes, against the usual hand-written script and against the least a Spark job can do."""
