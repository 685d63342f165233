"""How long a batch takes, compared with the usual hand-written script and with the minimum work of a Spark job."""
