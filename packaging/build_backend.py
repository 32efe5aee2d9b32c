"""What pip calls to build Canelé from its sources (PEP 517): scripts/wheel does it.

Owns which file goes where pip wants it. Needs Python 3.11, Rust and a C compiler, whose absence scripts/wheel names."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def get_requires_for_build_wheel(config_settings=None):
    """Returns what packs the wheel."""
    return ["wheel==0.48.*"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel for this machine. Returns its name."""
    return build("*.whl", wheel_directory, "--here")


def build_sdist(sdist_directory, config_settings=None):
    """Packs the sources, from a clone. Returns the archive's name."""
    return build("*.tar.gz", sdist_directory, "--sdist")


def build(pattern, folder, option):
    subprocess.run([sys.executable, ROOT / "scripts/wheel", option], check=True, timeout=4 * 3600)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "wheel"
    built = max(target.glob(pattern), key=lambda path: path.stat().st_mtime)
    return pathlib.Path(shutil.copy2(built, folder)).name
