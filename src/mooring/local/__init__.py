"""The local cluster: API server, controllers, fake nodes and scheduler in one process."""
