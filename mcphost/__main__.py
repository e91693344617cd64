"""`python -m mcphost`."""

from mcphost.cli import main

main()
