"""Print the compiler of the wheel ``ziglang`` and its name of this system, as a list of CMake."""

import platform
import sys
import sysconfig
from pathlib import Path

import ziglang

machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower())
if sys.platform == "darwin":
    system = "macos"
else:
    musl = "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE"))
    system = "linux-musl" if musl else "linux-gnu"
zig = Path(ziglang.__file__).with_name("zig")
print(f"{zig.as_posix()};{machine or platform.machine()}-{system}")
