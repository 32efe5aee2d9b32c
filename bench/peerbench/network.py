"""Two hosts on one machine: network namespaces made by scripts/cluster, and removed again."""

import contextlib
import os
import subprocess

from . import places

# Launchers alone send about fifty packets, and a measurement at least some hundreds.
FEWEST_PACKETS = 200


class Network:
    """Both hosts, and the measured rail between them."""

    rail = "ra0"
    hosts = ("10.77.1.1", "10.77.1.2")

    def __init__(self, folder):
        if os.geteuid() != 0:
            raise places.Missing("--tcp makes network namespaces: only root may")
        self.name = f"peers{os.getpid()}"
        self.folder = folder
        # The host files by their text.
        self.files = {}

    def __enter__(self):
        if subprocess.run([places.CLUSTER, "up", self.name], check=False).returncode:
            raise places.Missing(f"{places.CLUSTER} up does not work here, see above")
        return self

    def __exit__(self, *_):
        subprocess.run([places.CLUSTER, "down", self.name], check=False)
        for file in self.files.values():
            file.unlink(missing_ok=True)

    def hostfile(self, line):
        """Returns a file that names the hosts; `line` makes a line of it from an address."""
        text = "".join(f"{line(host)}\n" for host in self.hosts)
        if text not in self.files:
            self.files[text] = self.folder / f"hosts-{os.getpid()}-{len(self.files)}"
            self.files[text].write_text(text, encoding="utf-8")
        return self.files[text]

    def per_host(self, ranks):
        """Returns how many of so many ranks each host has."""
        return ranks // len(self.hosts)

    def variables(self):
        """Returns the variables that tell the remote shells which hosts to use."""
        return {"CLUSTER": self.name}

    def here(self, command):
        """Returns the line that runs `command` on the first host, under the name that bench/remote-shell
        gives it too."""
        host = self.hosts[0].replace(".", "-")
        named = ["unshare", "--uts", "bash", "-c", f'hostname host-{host} && exec "$@"', "bash"]
        return [*named, "ip", "netns", "exec", f"{self.name}-h0", *command]

    def packets(self):
        """Returns the number of packets that the first host has sent over the rail."""
        counter = f"/sys/class/net/{self.rail}/statistics/tx_packets"
        line = ["ip", "netns", "exec", f"{self.name}-h0", "cat", counter]
        return int(subprocess.run(line, stdout=subprocess.PIPE, check=True, text=True).stdout)

    @contextlib.contextmanager
    def crossed(self):
        """Checks that the messages inside this context go over the rail; by another way the figures would be
        wrong."""
        before = self.packets()
        yield
        sent = self.packets() - before
        if sent < FEWEST_PACKETS:
            raise ValueError(f"only {sent} packets went over {self.rail}: the messages took another way")
