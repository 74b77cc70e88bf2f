"""A Kubernetes-compatible API server in this process, with controllers and fake nodes."""
