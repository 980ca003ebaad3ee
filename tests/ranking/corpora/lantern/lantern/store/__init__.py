"""Stores: where jobs are kept."""
