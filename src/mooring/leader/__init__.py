"""Requests to the scheduler that leads: its Lease, its port and its explanations."""
