"""The HTTP edge: who may ask, the routes, and a server that ends when it is told to.

Nothing is decided here about contexts: a route hands its arguments to `satchel.operations` and sends what comes back.
"""
