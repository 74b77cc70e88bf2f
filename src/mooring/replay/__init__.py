"""The replay of a journal: its decisions taken again, on the recorded state or on a new one."""
