"""The whole pipeline on one machine: a PostgreSQL shop, the emulated DMS and the job, side by side, and a report."""
