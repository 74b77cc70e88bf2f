"""KubeSchedulerConfiguration: reading, defaulting, checking and printing it."""
