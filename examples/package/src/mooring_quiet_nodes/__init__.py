"""A scheduling plugin that prefers nodes with few pods."""
