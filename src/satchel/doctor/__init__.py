"""Checks of everything that satchel needs. Looking changes nothing, not even a folder is made."""
