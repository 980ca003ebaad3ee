"""One module a command. Each is imported when its command is used, never before."""
