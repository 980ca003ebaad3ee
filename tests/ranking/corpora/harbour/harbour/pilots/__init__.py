"""Pilots."""
