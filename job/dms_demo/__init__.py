"""The whole pipeline on one machine, all at once: a PostgreSQL shop, the emulated DMS, the job, and a report."""
