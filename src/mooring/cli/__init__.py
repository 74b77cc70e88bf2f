"""The `mooring` command: one file per subcommand."""
