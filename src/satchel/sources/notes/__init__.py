"""Notes: exports of Tana, and vaults of Markdown files."""
