"""The whole pipeline on one machine, all at once: a shop's database, the emulated DMS, the job, and a report."""
