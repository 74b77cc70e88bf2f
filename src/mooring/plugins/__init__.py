"""The plugins that come with the scheduler, on the public contract alone."""
