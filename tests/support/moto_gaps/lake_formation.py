"""Lake Formation: a revoked permission is gone."""

from typing import Any

from moto.lakeformation.exceptions import InvalidInput
from moto.lakeformation.models import PermissionCatalog

from support.moto_gaps.patching import Function, around


def close_gaps() -> None:
    """Patch ``aws_lakeformation_permissions``."""

    @around(PermissionCatalog, "remove_permission")
    def remove_permission(original: Function, catalog: PermissionCatalog, permission: Any) -> Any:
        # The provider revokes until it is told that nothing is left; moto always says yes, and destroy never ends.
        if not any(permission.equal_principal_and_resouce(held) for held in catalog.permissions):
            raise InvalidInput("No permissions revoked. Grantee has no permissions on resource.")
        return original(catalog, permission)
