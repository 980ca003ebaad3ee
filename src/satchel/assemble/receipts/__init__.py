"""What an answer can say about itself: handles for what was cut, budgets that admit, ranks, and replay."""
