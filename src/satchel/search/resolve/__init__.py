"""Which definition a name in a source file means: by scope, by import, by the type of what stands before it."""
