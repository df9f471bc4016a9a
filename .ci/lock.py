"""Write pinned versions from pip's report: ``python .ci/lock.py REPORT LOCK``.

A pin is a name and a version, without hosts and without digests of files, so that the lock serves
whatever index and platform somebody installs from.
"""

import json
import re
import sys
from pathlib import Path

HEAD = "# What `make lock` found for development; `pip install -r` this file to have the same.\n"


def pins(report: dict) -> list[str]:
    """Return the packages of a report as lines, the project itself left out."""
    found = {}
    for item in report["install"]:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        if "dir_info" not in item["download_info"]:
            found[name] = item["metadata"]["version"]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    lines = pins(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    Path(sys.argv[2]).write_text(HEAD + "\n".join(lines) + "\n", "utf-8")
