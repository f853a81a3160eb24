"""Rewrites chunks of a document and turns of a conversation so that each can be understood alone."""
