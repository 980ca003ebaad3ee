"""The calls of tools: what a call says of the situation it is made in, and the context that goes with it."""
