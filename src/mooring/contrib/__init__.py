"""Plugins that come with Mooring and are in no default profile, on the public contract alone."""
