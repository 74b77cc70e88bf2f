"""The extender process: plugins that serve a stock kube-scheduler over HTTP."""
