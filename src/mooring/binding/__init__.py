"""Carrying out a decision: the wait at Permit, and the points from Reserve to PostBind."""
