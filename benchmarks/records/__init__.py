"""What looking costs: records, journal, explanations and replay, each beside the same without."""
