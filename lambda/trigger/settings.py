"""The function's settings, from its environment. README.md beside this file describes the variables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from events import Bronze


@dataclass(frozen=True, slots=True)
class Settings:
    """The function's settings, from its environment.

    Attributes:
        start: whether a serverless replication should run; None where Terraform leaves that to somebody else.
        starts_runs: whether runs are started; False beside a watch that something else keeps running.
    """

    job_name: str
    config_uri: str
    bronze: Bronze
    queue_url: str
    dead_letter_queue_url: str
    replication_arn: str = ""
    gap: timedelta = timedelta(0)
    run_arguments: Mapping[str, str] = field(default_factory=lambda: {"--command": "run"})
    start: bool | None = None
    starts_runs: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings.

        Raises:
            ValueError: variables are missing.
        """
        names = ("JOB_NAME", "CONFIG_URI", "BRONZE_BUCKET", "QUEUE_URL", "DEAD_LETTER_QUEUE_URL")
        missing = [name for name in names if not environment.get(name)]
        if missing:
            raise ValueError(f"environment variables not set: {', '.join(missing)}. The Terraform module trigger sets them; apply it again")
        prefix = environment.get("BRONZE_PREFIX", "").strip("/")
        job, config, bucket, queue, dead_letters = (environment[name] for name in names)
        bronze = Bronze(bucket, prefix and f"{prefix}/")
        run = json.loads(environment.get("RUN_ARGUMENTS") or '{"--command": "run"}')
        gap = timedelta(minutes=float(environment.get("MIN_MINUTES_BETWEEN_RUNS") or 0))
        wanted = environment.get("START_REPLICATION", "")
        if wanted not in ("", "true", "false"):
            raise ValueError(f"START_REPLICATION is {wanted!r}. Allowed: true, false. The Terraform module trigger sets it; apply it again")
        start = wanted == "true" if wanted else None
        starts = environment.get("STARTS_RUNS", "true") == "true"
        return cls(job, config, bronze, queue, dead_letters, environment.get("REPLICATION_ARN", ""), gap, run, start, starts)
