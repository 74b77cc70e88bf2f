"""Patches: JSON patch, merge patch, strategic merge patch and server-side apply.

All of them are pure functions on plain objects. `managed` tracks which manager owns which field.
"""
