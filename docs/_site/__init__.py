"""What the site needs beyond Sphinx: pages that are found rather than written."""
