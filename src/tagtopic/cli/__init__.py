"""The command line: one module per group of commands, without logic of its own."""
