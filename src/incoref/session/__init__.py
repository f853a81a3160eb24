"""Sessions: the state of a text that is still arriving, its input and its output."""
