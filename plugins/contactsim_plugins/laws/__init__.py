"""Contact laws."""
