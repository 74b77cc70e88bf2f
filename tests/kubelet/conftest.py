"""API servers and clusters for tests of the kubelet: those of the controllers."""

from tests.controllers.conftest import clock, workbench

__all__ = ["clock", "workbench"]
