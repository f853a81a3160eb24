"""Sessions over HTTP and WebSocket: stores, the session service, the application, the live page."""
