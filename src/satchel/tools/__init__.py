"""Tools of other programs, wrapped so that each call comes with the context of its situation."""
