"""The plugin contract: the extension points, and everything that a plugin is given or returns."""
