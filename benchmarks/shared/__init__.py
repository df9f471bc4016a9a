"""Data, timing, tables and pictures that cases of several folders use."""
