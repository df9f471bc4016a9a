"""Other libraries on the same data."""
