"""Changing objects by patches: JSON patch, merge patch, strategic merge patch, server-side apply.

All of them are pure functions on plain objects. `managed` keeps track of who owns which field.
"""
