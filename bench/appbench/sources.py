"""Released archives. Owns their origins and checksums."""

import hashlib
import shutil
import subprocess

from peerbench import places


def unpack(program, given, cache, into, tell):
    """Puts the sources of a program into the new folder `into`."""
    if given and (given / program.source).is_dir():
        shutil.copytree(given / program.source, into, symlinks=True)
        return
    archive = find(program, given, cache, tell)
    into.mkdir(parents=True)
    # An archive has one folder at its top.
    if subprocess.run(["tar", "-xf", archive, "-C", into, "--strip-components=1"], check=False).returncode:
        raise places.Missing(f"{archive} cannot be unpacked, see above")


def find(program, given, cache, tell):
    """Returns the archive, from the given folder or from the cache."""
    if given and (given / program.source).exists():
        return checked(program, given / program.source)
    kept = cache / "archives"
    if not (kept / program.source).exists():
        if not program.debian:
            raise places.Missing(f"--sources must name the folder with {program.source}: it is fetched from nowhere")
        kept.mkdir(parents=True, exist_ok=True)
        tell(f"fetching {program.source}")
        command = ["apt-get", "--quiet", "source", "--download-only", "--tar-only", program.debian]
        run = subprocess.run(command, cwd=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode or not (kept / program.source).exists():
            raise places.Missing(
                f"{' '.join(command)} does not fetch {program.source}: {' / '.join(run.stdout.splitlines()[-2:])}; enable the "
                "list of sources (deb-src), or put the archive into a folder and name it with --sources"
            )
    return checked(program, kept / program.source)


def checked(program, archive):
    with open(archive, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if program.sha256 and found != program.sha256:
        raise places.Missing(f"{archive} is not the release {program.version}: its SHA-256 is {found}, not {program.sha256}")
    return archive
