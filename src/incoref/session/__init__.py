"""A text that is still arriving: its state, what goes in, what comes out."""
