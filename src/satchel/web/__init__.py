"""The HTTP edge: who may ask, the routes, and what they answer.

Nothing is decided here about contexts: a route hands its arguments to `satchel.operations` and sends what comes back.
"""
