"""DMS: instances, subnet groups, certificates and tags."""

import json
from datetime import datetime
from typing import Any

from moto.dms.exceptions import ResourceNotFoundFault
from moto.dms.models import DatabaseMigrationServiceBackend, FakeReplicationInstance, FakeReplicationSubnetGroup, FakeReplicationTask
from moto.dms.responses import DatabaseMigrationServiceResponse as Responses

from support.moto_gaps.patching import Function, around, operation


def close_gaps() -> None:
    """Patch ``aws_dms_replication_instance``, ``aws_dms_replication_subnet_group`` and ``aws_dms_certificate``."""
    _numeric_times()
    _subnet_groups()
    _certificates()

    @operation(Responses)
    def add_tags_to_resource(self: Responses) -> str:
        self.dms_backend.tagger.tag_resource(self._get_param("ResourceArn"), self._get_param("Tags"))
        return "{}"

    @operation(Responses)
    def remove_tags_from_resource(self: Responses) -> str:
        self.dms_backend.tagger.untag_resource_using_names(self._get_param("ResourceArn"), self._get_param("TagKeys"))
        return "{}"


def _numeric_times() -> None:
    """Send times as numbers, as DMS's protocol has them; the provider refuses moto's ISO texts."""

    def numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: datetime.fromisoformat(one).timestamp() if isinstance(one, str) and name.endswith(("Date", "Time")) else numbers(one)
                for name, one in value.items()
            }
        return [numbers(one) for one in value] if isinstance(value, list) else value

    for owner in (FakeReplicationInstance, FakeReplicationTask):

        @around(owner, "to_dict")
        def to_dict(original: Function, self: Any) -> Any:
            return numbers(original(self))


def _subnet_groups() -> None:
    """Keep the subnets that were given; moto answers with one of its own, and cannot change them."""

    @around(FakeReplicationSubnetGroup, "to_dict")
    def to_dict(original: Function, group: Any) -> dict[str, Any]:
        subnets = [
            {"SubnetIdentifier": subnet, "SubnetAvailabilityZone": {"Name": "us-east-1a"}, "SubnetStatus": "Active"}
            for subnet in getattr(group, "subnet_ids", [])
        ]
        return {**original(group), "VpcId": "vpc-12345", "Subnets": subnets}

    @around(DatabaseMigrationServiceBackend, "create_replication_subnet_group")
    def create_replication_subnet_group(original: Function, backend: Any, **given: Any) -> Any:
        group = original(backend, **given)
        group.subnet_ids = given["subnet_ids"]
        # moto tags the bare name; the provider asks for the tags of the ARN.
        arn = f"arn:aws:dms:{backend.region_name}:{backend.account_id}:subgrp:{group.replication_subnet_group_identifier}"
        backend.tagger.tag_resource(arn, given.get("tags") or [])
        return group

    @operation(Responses)
    def modify_replication_subnet_group(self: Responses) -> str:
        group: Any = self.dms_backend.replication_subnet_groups.get(self._get_param("ReplicationSubnetGroupIdentifier"))
        if not group:
            raise ResourceNotFoundFault("Replication subnet group could not be found.")
        group.subnet_ids = self._get_param("SubnetIds")
        group.description = self._get_param("ReplicationSubnetGroupDescription") or group.description
        return json.dumps({"ReplicationSubnetGroup": group.to_dict()})


def _certificates() -> None:
    """Keep certificates, which moto does not know at all."""
    held: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}

    def certificates(self: Responses) -> dict[str, dict[str, Any]]:
        return held.setdefault((self.current_account, self.region), {})

    @operation(Responses)
    def import_certificate(self: Responses) -> str:
        given, backend = json.loads(self.body), self.dms_backend
        name = given["CertificateIdentifier"]
        arn = f"arn:aws:dms:{backend.region_name}:{backend.account_id}:cert:{name}"
        kept = {"CertificateIdentifier": name, "CertificateArn": arn, "CertificatePem": given.get("CertificatePem")}
        certificates(self)[arn] = kept
        backend.tagger.tag_resource(arn, given.get("Tags") or [])
        return json.dumps({"Certificate": kept})

    @operation(Responses)
    def describe_certificates(self: Responses) -> str:
        wanted = {one["Name"]: one["Values"] for one in self._get_param("Filters", [])}
        found = [
            one
            for arn, one in certificates(self).items()
            if arn in wanted.get("certificate-arn", [arn])
            and one["CertificateIdentifier"] in wanted.get("certificate-id", [one["CertificateIdentifier"]])
        ]
        return json.dumps({"Certificates": found})

    @operation(Responses)
    def delete_certificate(self: Responses) -> str:
        gone = certificates(self).pop(self._get_param("CertificateArn"), None)
        if not gone:
            raise ResourceNotFoundFault("Certificate could not be found.")
        return json.dumps({"Certificate": gone})
