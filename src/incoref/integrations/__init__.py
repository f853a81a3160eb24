"""Adapters for other libraries, each imported only on use."""
