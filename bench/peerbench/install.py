"""Virtual environments with the peers, and one for pictures. Owns the mark of a complete environment."""

import shutil
import subprocess
import sys

from . import places


def environment(cache, package, tell):
    """Returns the folder of a complete environment with `package`, which is made first if it is missing."""
    place = places.environment(cache, package)
    complete = place / "complete"
    if not complete.exists():
        tell(f"installing {package} into {place}")
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        if subprocess.run([*pip, package], check=False).returncode:
            raise places.Missing(f"pip cannot install {package}, see above; --only leaves participants out")
        complete.touch()
    return place
