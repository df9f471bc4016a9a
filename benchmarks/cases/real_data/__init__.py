"""Default settings on real data: command line and filled gaps."""
