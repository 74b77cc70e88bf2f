"""The live scheduler: its flags, its leader election, its loop."""
