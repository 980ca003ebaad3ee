"""The command line: a thin edge that parses, calls the engine, and shows the answer."""
