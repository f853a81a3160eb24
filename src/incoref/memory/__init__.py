"""Chunks of a document and turns of a conversation, given back as text that stands alone."""
