"""Code localisation: real issue texts, and whether a context shows what their fixes changed."""
