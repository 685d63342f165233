"""Glue's catalog: commits by compare-and-swap, and connections."""

import threading
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.core.responses import EmptyResult
from moto.glue.exceptions import EntityNotFoundException
from moto.glue.models import FakeConnection
from moto.glue.responses import GlueResponse

from support.moto_gaps.patching import Function, around, operation


def close_gaps() -> None:
    """Patch UpdateTable and ``aws_glue_connection``."""
    compare_and_swap()

    @around(FakeConnection, "as_dict")
    def as_dict(original: Function, connection: FakeConnection, hide_password: bool = False) -> dict[str, Any]:
        # Without the type every second plan replaces the connection.
        given = connection.connection_input
        kept = {name: given.get(name) for name in ("ConnectionType", "MatchCriteria", "PhysicalConnectionRequirements", "Description")}
        return {**original(connection, hide_password), **kept}

    @operation(GlueResponse)
    def delete_connection(self: GlueResponse) -> EmptyResult:
        if not self.glue_backend.connections.pop(self._get_param("ConnectionName"), None):
            raise EntityNotFoundException("Connection not found")
        return EmptyResult()

    @operation(GlueResponse)
    def update_connection(self: GlueResponse) -> EmptyResult:
        connection = self.glue_backend.connections.get(self._get_param("Name"))
        if not connection:
            raise EntityNotFoundException("Connection not found")
        connection.connection_input = self._get_param("ConnectionInput")
        connection.connection_properties = connection.connection_input.get("ConnectionProperties", {})
        return EmptyResult()


def compare_and_swap() -> None:
    """Let UpdateTable honour VersionId, on which Iceberg's commits rest.

    moto ignores it, and 15 of 100 concurrent commits are lost without an error.
    """
    lock = threading.Lock()

    @around(GlueResponse, "update_table")
    def update_table(original: Function, self: GlueResponse) -> Any:
        # moto serves requests in threads: compare and swap must be one step.
        with lock:
            wanted = self.parameters.get("VersionId")
            if wanted is not None:
                table = self.glue_backend.get_table(self.parameters["DatabaseName"], self.parameters["TableInput"]["Name"])
                if str(wanted) != str(table._current_version):
                    raise JsonRESTError("ConcurrentModificationException", "Update table failed due to concurrent modifications.")
            return original(self)
