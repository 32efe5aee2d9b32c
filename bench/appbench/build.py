"""The built programs: once for the standard ABI, whose programs run over MPICH, Intel MPI and Canelé alike,
and once for Open MPI, which has an ABI of its own. Owns their folders, and the mark of a complete build."""

import os
import shutil
import subprocess

from peerbench import places

from . import programs, sources

ABIS = {"standard": ("mpich", "mpicc_abi", "mpicxx_abi"), "openmpi": ("openmpi", "mpicc", "mpicxx")}


def build_all(wanted, environments, tell):
    """Builds programs that are not complete yet. Returns {program: {ABI: folder}}."""
    found = {}
    for name, program in wanted.programs.items():
        found[name] = {abi: one(program, abi, wanted, environments, tell) for abi in ABIS if ABIS[abi][0] in environments}
    return found


def one(program, abi, wanted, environments, tell):
    place = wanted.cache / "applications" / f"{program.tree}-{program.version}" / abi
    mark = place / "complete"
    if mark.exists() and mark.read_text(encoding="utf-8") == program.mark():
        return place
    shutil.rmtree(place, ignore_errors=True)
    tree = place / "source"
    sources.unpack(program, wanted.sources, wanted.cache, tree, tell)
    tell(f"building {program.name} {program.version} for {abi}")
    peer, c, cxx = ABIS[abi]
    binaries = environments[peer] / "bin"
    variables = {"CC": binaries / c, "CXX": binaries / cxx, "INTO": place, "HERE": programs.HERE}
    # The build gets its compilers and options here alone.
    told = {name: value for name, value in os.environ.items() if name not in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")}
    told |= {name: str(value) for name, value in variables.items()} | {"JOBS": str(len(os.sched_getaffinity(0)))}
    log = place / "log"
    with open(log, "w", encoding="utf-8") as file:
        run = subprocess.run(["bash", "-euxc", program.build], cwd=tree, env=told, stdout=file, stderr=file, check=False)
    if run.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        raise places.Missing(f"{program.name} cannot be built, see {log}: {' / '.join(last)}")
    shutil.rmtree(tree)
    mark.write_text(program.mark(), encoding="utf-8")
    return place


def session(cache, tell):
    """Returns the command by which a rank begins a session of its own."""
    source, binary = programs.HERE / "session.c", cache / "applications" / "session"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        tell(f"compiling {source.name}")
        binary.parent.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, source], check=False).returncode:
            raise places.Missing(f"cc cannot compile {source}, see above")
    return binary
