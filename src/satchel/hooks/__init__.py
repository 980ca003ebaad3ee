"""Editor hooks: what an agent's host tells of its session comes in as JSON, and a little context goes out, or nothing.

A hook stands in the way of every prompt, so three things come before any answer: it ends with 0 whatever happens, it
ends within two seconds, and it writes nothing but one JSON object of at most 9,000 characters.
"""
