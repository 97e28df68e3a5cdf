"""The command line."""

from turnwire.cli.main import main as main
