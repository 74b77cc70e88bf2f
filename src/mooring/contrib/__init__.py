"""Plugins that come with Mooring but are in no default profile; they use the public API only."""
