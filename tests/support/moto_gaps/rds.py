"""RDS: parameter groups and Aurora clusters as the provider reads them back."""

from typing import Any

from moto.rds.models import DBCluster, DBParameterGroup

from support.moto_gaps.patching import Function, around, around_property


def close_gaps() -> None:
    """Patch ``aws_db_parameter_group`` and ``aws_rds_cluster``."""

    @around(DBParameterGroup, "update_parameters")
    def update_parameters(original: Function, group: DBParameterGroup, new_parameters: list[dict[str, Any]]) -> Any:
        # The provider looks only at parameters with Source=user; moto names no source, and all of them look absent.
        return original(group, [{"Source": "user", **parameter} for parameter in new_parameters])

    @around_property(DBCluster, "scaling_configuration_info")
    def scaling_configuration_info(found: Any, cluster: DBCluster) -> Any:
        # moto answers with an empty one for every cluster; only Serverless v1 has one, and the plan wants to remove it.
        return found if cluster.engine_mode == "serverless" else None
