"""scikit-build-core, with a compiler from the index where the system has none.

pip and other front ends call this module; see ``[build-system]`` in pyproject.toml. Run as a
script it prints what a build without isolation needs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ZIG = "ziglang>=0.13"

# What the sources use of C++20, in short.
PROBE = """
#include <concepts>
template <std::floating_point T> T twice(T x) { return x + x; }
int main() { return []<class T>(T x) { return twice(x) > 1; }(0.0); }
"""


def has_compiler() -> bool:
    """Return whether a C++20 compiler is found as CMake would find it."""
    if sys.platform == "win32":
        return True  # CMake looks where PATH does not lead
    named = os.environ.get("CXX", "").split()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text(PROBE, "utf-8")
        for command in [named] if named else [["c++"], ["g++"], ["clang++"]]:
            if shutil.which(command[0]) is None:
                continue
            call = [*command, "-std=c++20", str(source), "-o", str(Path(folder, "probe"))]
            if subprocess.run(call, capture_output=True, check=False).returncode == 0:
                return True
    return False


def _requires(names: list[str]) -> list[str]:
    return names if has_compiler() else [*names, ZIG]


def _choose() -> None:
    if "CMAKE_TOOLCHAIN_FILE" not in os.environ and not has_compiler():
        os.environ["CMAKE_TOOLCHAIN_FILE"] = str(HERE / "zig.cmake")


def get_requires_for_build_sdist(config_settings=None):
    """Return what scikit-build-core needs."""
    from scikit_build_core import build

    return build.get_requires_for_build_sdist(config_settings)


def get_requires_for_build_wheel(config_settings=None):
    """Return what scikit-build-core needs, CMake and Ninja included, and a compiler."""
    from scikit_build_core import build

    return _requires(build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings=None):
    """Return the same for an editable installation."""
    from scikit_build_core import build

    return _requires(build.get_requires_for_build_editable(config_settings))


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Write name, version and dependencies; nothing is compiled."""
    from scikit_build_core import build

    return build.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    """Write the same for an editable installation."""
    from scikit_build_core import build

    return build.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    """Pack the sources; nothing is compiled."""
    from scikit_build_core import build

    return build.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile and pack."""
    from scikit_build_core import build

    _choose()
    return build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Compile, and pack what redirects imports to the sources."""
    from scikit_build_core import build

    _choose()
    return build.build_editable(wheel_directory, config_settings, metadata_directory)


if __name__ == "__main__":
    project = tomllib.loads(HERE.with_name("pyproject.toml").read_text("utf-8"))
    print(*_requires([*project["build-system"]["requires"], "cmake>=3.26", "ninja"]), sep="\n")
