"""DMS Serverless, which moto does not know at all: a replication configuration and its one replication.

Every answer is an echo of the request. An empty second plan shows that the values travel through the provider and back, no more.
A start takes as long, and fails as often, as a test wants; it never loads anything, and calls its load complete at once.

A configuration that was modified is `modifying` for a while, as on AWS, and can be neither started, stopped nor modified meanwhile; the
provider does not wait for its end (its issue 35650). Here it takes seconds; how long it takes on AWS nobody has measured for us.
"""

import json
import time
from typing import Any

from moto.dms.exceptions import InvalidResourceStateFault, ResourceAlreadyExistsFault, ResourceNotFoundFault
from moto.dms.responses import DatabaseMigrationServiceResponse as Responses
from moto.dms.utils import random_id

from support.moto_gaps.patching import operation

_Config = dict[str, Any]
_held: dict[tuple[str, str], dict[str, _Config]] = {}
"""By account and region, then ARN. The state of the replication is under `_status`; until `_modified_at` it is being modified.

What a test lets it say beside that is under `_stop_reason` and `_tables` (`let_say`); the kinds of its starts under `_starts`.
"""
SECONDS_OF_MODIFYING = 2.0


def configurations(responses: Responses) -> dict[str, _Config]:
    """Return the replication configurations of the caller's account and region by ARN."""
    return _held.setdefault((responses.current_account, responses.region), {})


def let_say(account: str, region: str, arn: str, status: str, stop_reason: str, tables: list[dict[str, Any]]) -> None:
    """Let a replication say from now on what it is doing, why it stopped, and how its tables are; times are seconds since 1970."""
    _held[account, region][arn].update({"_status": status, "_stop_reason": stop_reason, "_tables": tables})


def let_starts_fail(account: str, region: str, arn: str, times: int) -> None:
    """Let the next starts of a replication fail, as they do when DMS cannot connect."""
    _held[account, region][arn]["_failures"] = times


def let_starts_take(account: str, region: str, arn: str, seconds: float) -> None:
    """Let each start of a replication take a while; half an hour is usual on AWS."""
    _held[account, region][arn]["_seconds"] = seconds


def let_modifying_end(account: str, region: str, arn: str) -> None:
    """Let a replication be modified now, however long that was to take."""
    _held[account, region][arn]["_modified_at"] = 0.0


def starts(account: str, region: str, arn: str) -> list[str]:
    """Return the kinds of all starts of a replication that DMS accepted."""
    return list(_held[account, region][arn]["_starts"])


def _asked(responses: Responses) -> list[_Config]:
    wanted = {one["Name"]: one["Values"] for one in responses._get_param("Filters", [])}
    found = [
        config
        for arn, config in configurations(responses).items()
        if arn in wanted.get("replication-config-arn", [arn])
        and config["ReplicationConfigIdentifier"] in wanted.get("replication-config-id", [config["ReplicationConfigIdentifier"]])
    ]
    if not found:
        raise ResourceNotFoundFault("Replication config could not be found.")
    return found


def _config(responses: Responses) -> _Config:
    found = configurations(responses).get(responses._get_param("ReplicationConfigArn"))
    if not found:
        raise ResourceNotFoundFault("Replication config could not be found.")
    return found


def _shown(config: _Config) -> _Config:
    return {name: value for name, value in config.items() if not name.startswith("_")}


def _replication(config: _Config) -> dict[str, Any]:
    kept = ("ReplicationConfigArn", "ReplicationConfigIdentifier", "ReplicationType")
    status = "modifying" if _is_modifying(config) else config["_status"]
    if status == "running" and time.monotonic() < config.get("_runs_at", 0.0):
        status = "initializing"
    found = {"Status": status, "StopReason": config.get("_stop_reason", ""), "FailureMessages": config.get("_messages", [])}
    return {name: config[name] for name in kept} | found | config.get("_place", {})


def _is_modifying(config: _Config) -> bool:
    return time.monotonic() < float(config["_modified_at"])


def _in_a_state_for(responses: Responses, verb: str, *states: str) -> _Config:
    """Return the configuration, unless its replication is in none of the states."""
    config = _config(responses)
    status, name = _replication(config)["Status"], config["ReplicationConfigIdentifier"]
    if status not in states:
        raise InvalidResourceStateFault(f"Replication for Replication Config: {name} is in {status.upper()} state and cannot {verb}")
    return config


def _turned(config: _Config, status: str) -> str:
    config["_status"] = status
    return json.dumps({"Replication": _replication(config)})


def _start(config: _Config, kind: str) -> str:
    """Note a start, and return the state that it ends in."""
    has_run = "_place" in config
    if has_run != (kind == "resume-processing"):
        # That AWS refuses a first one of a replication that has run is our caution: its reference says only what the two are for.
        raise InvalidResourceStateFault(f"{kind} of a replication that has {'' if has_run else 'never '}run")
    config["_starts"].append(kind)
    config["_runs_at"] = time.monotonic() + config.get("_seconds", 0.0)
    config["_messages"] = []
    if config.get("_failures", 0):
        config["_failures"] -= 1
        config["_messages"] = ["Test Endpoint failed: Application-Status: 1020912"]
        return "failed"
    begin = {"FreshStartDate": time.time(), "FullLoadStartDate": time.time(), "FullLoadFinishDate": time.time(), "TablesLoaded": 1}
    config.setdefault("_place", {"ReplicationStats": begin, "RecoveryCheckpoint": "checkpoint:V1#1"})
    return "running"


def running_endpoints(responses: Responses) -> set[str]:
    """Return the ARNs of the endpoints that running replications use."""
    running = [config for config in configurations(responses).values() if config["_status"] == "running"]
    return {config[end] for config in running for end in ("SourceEndpointArn", "TargetEndpointArn")}


def close_gaps() -> None:
    """Patch ``aws_dms_replication_config``."""

    @operation(Responses)
    def create_replication_config(self: Responses) -> str:
        given, backend = json.loads(self.body), self.dms_backend
        if any(one["ReplicationConfigIdentifier"] == given["ReplicationConfigIdentifier"] for one in configurations(self).values()):
            raise ResourceAlreadyExistsFault("The resource you are attempting to create already exists.")
        name = given.get("ResourceIdentifier") or random_id(True, 26)
        arn = f"arn:aws:dms:{backend.region_name}:{backend.account_id}:replication-config:{name}"
        backend.tagger.tag_resource(arn, given.pop("Tags", None) or [])
        given.setdefault("ReplicationSettings", "{}")
        config = configurations(self)[arn] = {
            **given,
            "ReplicationConfigArn": arn,
            "_status": "created",
            "_modified_at": 0.0,
            "_starts": [],
        }
        return json.dumps({"ReplicationConfig": _shown(config)})

    @operation(Responses)
    def describe_replication_configs(self: Responses) -> str:
        return json.dumps({"ReplicationConfigs": [_shown(config) for config in _asked(self)]})

    @operation(Responses)
    def describe_replications(self: Responses) -> str:
        return json.dumps({"Replications": [_replication(config) for config in _asked(self)]})

    @operation(Responses)
    def describe_replication_table_statistics(self: Responses) -> str:
        config = _config(self)
        return json.dumps({"ReplicationConfigArn": config["ReplicationConfigArn"], "ReplicationTableStatistics": config.get("_tables", [])})

    @operation(Responses)
    def modify_replication_config(self: Responses) -> str:
        config = _in_a_state_for(self, "be modified", "created", "stopped", "failed")
        config.update(json.loads(self.body))
        config["_modified_at"] = time.monotonic() + SECONDS_OF_MODIFYING
        return json.dumps({"ReplicationConfig": _shown(config)})

    @operation(Responses)
    def start_replication(self: Responses) -> str:
        config = _in_a_state_for(self, "start", "created", "stopped", "failed")
        return _turned(config, _start(config, self._get_param("StartReplicationType")))

    @operation(Responses)
    def stop_replication(self: Responses) -> str:
        config = _in_a_state_for(self, "stop", "running")
        config["_place"]["ReplicationLastStopTime"] = time.time()
        return _turned(config, "stopped")

    @operation(Responses)
    def delete_replication_config(self: Responses) -> str:
        # Its reference allows all that neither run nor start, the guide's limitations only stopped and failed ones. Untried.
        config = _in_a_state_for(self, "be deleted", "created", "stopped", "failed", "deprovisioned")
        gone = configurations(self).pop(config["ReplicationConfigArn"])
        return json.dumps({"ReplicationConfig": _shown(gone)})
