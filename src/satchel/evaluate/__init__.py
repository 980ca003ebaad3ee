"""Measuring satchel on the user's own history: the message of a fix asks, the lines of the fix answer."""
