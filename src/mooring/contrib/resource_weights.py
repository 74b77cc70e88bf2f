"""Resources with weights, as several plugins have them in their arguments."""

from __future__ import annotations

from typing import Annotated

import msgspec

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ResourceWeight(msgspec.Struct, frozen=True):
    """A resource and its weight."""

    #: The name of the resource.
    name: str = ""
    #: Its weight.
    weight: Int64 = 0
