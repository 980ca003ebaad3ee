"""Jobs as text and back."""
