"""What protects the user: text from outside is made safe, secrets are redacted, and trust is explicit."""
