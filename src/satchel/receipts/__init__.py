"""What stays of an answer: handles to expand, reasons, replays, and what a session has received."""
