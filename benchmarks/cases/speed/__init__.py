"""Processor time of single steps, beside NumPy transcriptions of the same work."""
