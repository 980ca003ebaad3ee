"""Natural questions about public repositories, and whether an answer shows the lines that decide them."""
