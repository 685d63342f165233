"""DMS: endpoints can be changed while nothing that runs uses them."""

import json
from typing import Any

from moto.dms.exceptions import InvalidResourceStateFault, ResourceNotFoundFault
from moto.dms.responses import DatabaseMigrationServiceResponse as Responses

from support.moto_gaps.dms_serverless import running_endpoints
from support.moto_gaps.dms_tasks import endpoints_of_running_tasks
from support.moto_gaps.patching import operation, snake

_NAMED_OTHERWISE = {"PostgreSQLSettings": "postgre_sql_settings", "MySQLSettings": "my_sql_settings", "S3Settings": "s3_settings"}


def close_gaps() -> None:
    """Patch ``aws_dms_endpoint`` and ``aws_dms_s3_endpoint``: ModifyEndpoint is missing in moto."""

    @operation(Responses)
    def modify_endpoint(self: Responses) -> str:
        given: dict[str, Any] = json.loads(self.body)
        arn = given.pop("EndpointArn")
        endpoint = next((one for one in self.dms_backend.endpoints.values() if one.endpoint_arn == arn), None)
        if endpoint is None:
            raise ResourceNotFoundFault("Endpoint could not be found.")
        if arn in running_endpoints(self) | endpoints_of_running_tasks(self):
            raise InvalidResourceStateFault(f"Endpoint {arn} is in use by a running replication and cannot be modified")
        for name, value in given.items():
            attribute = _NAMED_OTHERWISE.get(name, snake(name))
            # Settings that a request leaves out stay as they are.
            merge = attribute.endswith("_settings") and isinstance(value, dict)
            setattr(endpoint, attribute, {**(getattr(endpoint, attribute) or {}), **value} if merge else value)
        return json.dumps({"Endpoint": {name: value for name, value in endpoint.to_dict().items() if value is not None}})
