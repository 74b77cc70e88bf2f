"""Metadata of objects."""

from __future__ import annotations

import pytest

from mooring.api.meta import ObjectMeta
from mooring.api.workloads import Namespace


def test_a_cluster_scoped_object_is_its_name():
    namespace = Namespace(metadata=ObjectMeta(name="n", labels={"a": "b"}))
    assert (namespace.key, namespace.labels, namespace.annotations) == ("n", {"a": "b"}, {})
    with pytest.raises(AttributeError):
        namespace.metadata = ObjectMeta()
