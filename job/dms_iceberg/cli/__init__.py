"""The command line: commands, options, and what is shown."""
