"""Editor hooks: an agent's host sends an event of its session as JSON, and gets a little context, or nothing.

A hook delays every prompt, so three rules have precedence over any answer: it always exits with 0, it ends within two
seconds, and it writes nothing but one JSON object of at most 9,000 characters.
"""
