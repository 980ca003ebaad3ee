"""Measure answers on the fixes of a repository's own history."""
