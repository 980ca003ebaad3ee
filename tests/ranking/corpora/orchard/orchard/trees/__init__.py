"""Trees and their care."""
