"""Guidance that applies when it applies: context files, instruction files, conditions, judges, situations."""
