"""What was learned: memories, experiences and what emerges from them, written to the durable memory file."""
