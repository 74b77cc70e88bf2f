"""One write request while it is processed, as admission, strategies and the store see it."""

from __future__ import annotations

import msgspec

from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.patch import managed
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState


class Write(msgspec.Struct):
    """A create, update or patch request while it is processed."""

    cluster: ServerState
    request: ApiRequest
    info: RequestInfo
    served: Served
    options: WriteOptions

    @property
    def subresource(self) -> str:
        """Return the subresource that is written, "" for the object itself."""
        return self.info.subresource

    @property
    def manager(self) -> str:
        """Return the field manager, for managedFields."""
        agent = self.request.headers.get("user-agent", "")
        return self.options.manager or managed.manager_from_user_agent(agent)
