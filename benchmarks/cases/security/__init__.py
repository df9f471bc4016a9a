"""Damaged and hostile files."""
