"""Work on the native module: ``python .ci/native.py COMMAND``.

``stub``      write src/thalweg/_native/_thalweg_core.pyi from the compiled module
``tidy``      run clang-tidy on the files that changed since it last passed
``sanitize``  build with sanitizers, and run the tests of the kernels
``cross``     compile for aarch64 with Zig
"""

import hashlib
import importlib.util
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "src" / "thalweg" / "_native"
MODULE = "thalweg._native._thalweg_core"
ENVIRONMENT = Path(sys.prefix)  # build trees are in it, and go with it


def run(*command: object, **variables: str) -> None:
    """Run a command with the tools of this environment; raise if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, **variables}
    subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, check=True)


def stub_text() -> str:
    """Return the stub of the compiled module, formatted."""
    from nanobind.stubgen import StubGen

    stub = StubGen(importlib.import_module(MODULE))
    stub.put(stub.module)
    # The library's arrays are typed as floating, which float64, a class of its own, excludes.
    text = stub.get().replace("NDArray[numpy.float64]", "NDArray[numpy.floating]")
    return subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename=_thalweg_core.pyi", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout


def stub() -> None:
    """Write the stub."""
    (NATIVE / "_thalweg_core.pyi").write_text(stub_text(), "utf-8")


def commands(build: Path) -> dict[Path, list[str]]:
    """Return how each file of the project is compiled; for one instruction set, as for all."""
    entries = json.loads((build / "compile_commands.json").read_text("utf-8"))
    return {
        Path(entry["file"]): shlex.split(entry["command"])
        for entry in entries
        if Path(entry["file"]).is_relative_to(NATIVE)
    }


def tidy() -> None:
    """Run clang-tidy; a file that passed is not looked at again until something changes."""
    build = ENVIRONMENT / "native"
    found = commands(build)
    if any("zig" in Path(command[0]).name for command in found.values()):
        print("clang-tidy is skipped: it needs the headers of a system compiler")
        return
    shared = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in sorted(NATIVE.rglob("*.hpp")):
        shared.update(header.read_bytes())
    database, passed = ENVIRONMENT / "tidy", ENVIRONMENT / "tidy" / "passed"
    passed.mkdir(parents=True, exist_ok=True)
    # Flags of GCC that Clang does not know, and dependencies, are left out.
    entries = [
        {
            "directory": str(build),
            "file": str(file),
            "arguments": [
                part for part in command if not part.startswith(("-finline-limit", "-M"))
            ],
        }
        for file, command in found.items()
    ]
    (database / "compile_commands.json").write_text(json.dumps(entries), "utf-8")

    def check(entry: dict) -> str:
        digest = shared.copy()
        digest.update(json.dumps(entry).encode() + Path(entry["file"]).read_bytes())
        mark = passed / digest.hexdigest()
        if mark.exists():
            return ""
        tool = Path(sys.executable).with_name("clang-tidy")
        ended = subprocess.run(
            [tool, "-p", database, "--quiet", entry["file"]],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode == 0:
            mark.touch()
            return ""
        return ended.stdout + ended.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(check, entries) if text]
    if complaints:
        sys.exit("\n".join(complaints))


def configure(name: str, *options: str) -> Path:
    """Configure and build the module with options; return the folder."""
    build = ENVIRONMENT / name
    definitions = [f"-D{option}" for option in (f"Python_EXECUTABLE={sys.executable}", *options)]
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "--log-level=WARNING", *definitions)
    run("cmake", "--build", build)
    return build


def library(compiler: str, name: str) -> str:
    """Return the path of a library of the compiler."""
    command = [compiler, f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sanitize(*arguments: str) -> None:
    """Run the tests of the kernels under AddressSanitizer and UndefinedBehaviorSanitizer."""
    build = configure("sanitize", "THALWEG_SANITIZE=ON", "CMAKE_BUILD_TYPE=Debug")
    compiler = next(iter(commands(build).values()))[0]
    # Python is not sanitized, so the libraries must be there before the module; CPython leaks.
    libraries = [library(compiler, name) for name in ("libasan.so", "libstdc++.so.6")]
    run(
        sys.executable,
        __file__,
        "sanitized",
        *(arguments or ["tests/kernels"]),
        LD_PRELOAD=" ".join(libraries),
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="print_stacktrace=1",
    )


def sanitized(*arguments: str) -> None:
    """Run pytest with the sanitized module in the place of the usual one."""
    import pytest

    file = next((ENVIRONMENT / "sanitize").glob("_thalweg_core.*"))
    spec = importlib.util.spec_from_file_location(MODULE, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    sys.exit(pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", *arguments]))


def cross() -> None:
    """Compile and link for a processor of another kind."""
    configure(
        "cross",
        f"CMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'zig.cmake'}",
        "THALWEG_ZIG_TARGET=aarch64-linux-gnu",
    )


if __name__ == "__main__":
    steps = {step.__name__: step for step in (stub, tidy, sanitize, sanitized, cross)}
    try:
        steps[sys.argv[1]](*sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
