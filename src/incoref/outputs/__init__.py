"""What people and programs get to see: documents and updates as JSON, as a page, as text for a terminal."""
