"""The command line: one module a command group, no logic of its own."""
