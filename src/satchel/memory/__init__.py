"""What is remembered: memories, experiences, values and conversations."""
