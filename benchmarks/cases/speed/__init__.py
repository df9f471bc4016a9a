"""Processor time of single steps, compared with NumPy transcriptions of the same work."""
