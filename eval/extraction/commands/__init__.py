"""The subcommands of ``epoche extract``."""
