"""Starts the MCP server of satchel for the folder that the desktop host names."""

import sys

from satchel.cli.main import main

sys.argv[1:] = ["mcp", "--root", sys.argv[1]]
sys.exit(main())
