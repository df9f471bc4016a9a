"""Memory, long streams, files larger than memory, and several processes."""
