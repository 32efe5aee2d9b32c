"""Two hosts on one machine: network namespaces made by scripts/cluster, and removed again."""

import os
import subprocess

from . import places


class Network:
    """Both hosts, and the rail between them that is measured."""

    rail = "ra0"
    hosts = ("10.77.1.1", "10.77.1.2")

    def __init__(self, folder):
        if os.geteuid() != 0:
            raise places.Missing("--tcp makes network namespaces: only root may")
        self.name = f"peers{os.getpid()}"
        self.hostfile = folder / f"hosts-{os.getpid()}"

    def __enter__(self):
        self.hostfile.write_text("".join(f"{host}\n" for host in self.hosts), encoding="utf-8")
        if subprocess.run([places.CLUSTER, "up", self.name], check=False).returncode:
            raise places.Missing(f"{places.CLUSTER} up does not work here, see above")
        return self

    def __exit__(self, *_):
        subprocess.run([places.CLUSTER, "down", self.name], check=False)
        self.hostfile.unlink(missing_ok=True)

    def variables(self):
        """By which the remote shells know the hosts."""
        return {"CLUSTER": self.name}

    def here(self, command):
        """`command` on the first host, which has a name of its own as the other one has."""
        named = ["unshare", "--uts", "bash", "-c", 'hostname host-0 && exec "$@"', "bash"]
        return [*named, "ip", "netns", "exec", f"{self.name}-h0", *command]
