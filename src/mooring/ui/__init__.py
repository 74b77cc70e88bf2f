"""The web UI: its server, its data and its static files."""
