"""The pocket clocks."""
