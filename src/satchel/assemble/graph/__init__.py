"""The graph context: from a topic or a node over its relations to what stands around it."""
