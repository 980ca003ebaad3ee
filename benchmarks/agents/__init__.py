"""What an answer is worth to an agent that reads it from the top."""
