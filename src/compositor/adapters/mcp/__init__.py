"""MCP servers: their configuration files, connections, calls and private tokens. Never decides which server may run."""
