"""Tests of the editor hooks."""
