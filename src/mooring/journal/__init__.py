"""The journal: the inputs of a scheduler in files, from which its decisions can be repeated."""
