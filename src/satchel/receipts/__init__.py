"""Handles to expand, explanations of ranks, replays, and the ledgers of sessions."""
