"""One scheduler process: flags, options, leader election, lifecycle."""
