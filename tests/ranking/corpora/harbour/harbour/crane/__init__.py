"""Cranes."""
