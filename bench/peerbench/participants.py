"""The command lines and environments of implementations, in shared memory and between two hosts. Owns their
options; runs nothing."""

import copy
import os

from . import places

# Variables of our environment that would change a peer's behaviour.
FORGOTTEN = ("LD_LIBRARY_PATH", "LD_PRELOAD")


class Participant:
    """One implementation. `network` has the two hosts, if ranks are between hosts; `bound` says whether ranks
    are bound. Between hosts no rank is bound: both hosts are one machine, and each would begin at its first
    processor."""

    abi = "standard"

    def __init__(self, place, network, bound):
        self.place = place
        self.network = network
        self.bound = bound

    def unbound(self):
        """Returns the participant for programs that start processes or have several threads a rank. It does
        not say whether ranks are bound: MPICH's and Open MPI's launchers cannot bind started processes too,
        and each thread needs a processor."""
        other = copy.copy(self)
        other.bound = None
        return other

    def command(self, ranks, words):
        """Returns the command line that runs `words` on so many ranks."""
        raise NotImplementedError

    def variables(self):
        """Returns the variables of its environment."""
        return {}

    def environment(self):
        ours = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
        if self.network:
            ours.update(self.network.variables())
        return ours | self.variables()

    def line(self, ranks, words):
        """Returns the command line to run here: between hosts it starts on the first of them."""
        command = self.command(ranks, words)
        return self.network.here(command) if self.network else command


class Mpich(Participant):
    def command(self, ranks, words):
        options = [] if self.bound is None else ["-bind-to", "core" if self.bound else "none"]
        if self.network:
            shell = ["-launcher", "ssh", "-launcher-exec", places.REMOTE_SHELL]
            hosts = self.network.hostfile(lambda host: f"{host}:{self.network.per_host(ranks)}")
            options = [*shell, "-iface", self.network.rail, "-f", hosts]
        return [self.place / "bin/mpiexec", *options, "-n", str(ranks), *words]

    def variables(self):
        if not self.network:
            return {}
        return {
            "MPIR_CVAR_CH4_NETMOD": "ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": self.network.rail,
        }


class Intel(Participant):
    def command(self, ranks, words):
        # Intel's launcher binds ranks by default.
        options = []
        if self.network:
            options = ["-f", self.network.hostfile(str), "-ppn", str(self.network.per_host(ranks))]
        return [self.place / "bin/mpiexec", *options, "-n", str(ranks), *words]

    def variables(self):
        # MPICH's wrapper has linked the programs, so this library must come first.
        found = {"LD_LIBRARY_PATH": str(self.place / "lib")}
        if self.bound is False or self.network:
            found["I_MPI_PIN"] = "0"
        if not self.network:
            return found
        return found | {
            "I_MPI_HYDRA_BOOTSTRAP": "ssh",
            "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(places.REMOTE_SHELL),
            "I_MPI_HYDRA_IFACE": self.network.rail,
            # With `ofi` alone its messages do not use TCP.
            "I_MPI_FABRICS": "shm:ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": self.network.rail,
            "FI_PROVIDER_PATH": str(self.place / "lib"),
        }


class OpenMpi(Participant):
    abi = "openmpi"

    def command(self, ranks, words):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        # Open MPI refuses to bind several ranks to a processor.
        bind = "core" if self.bound and ranks <= len(os.sched_getaffinity(0)) else "none"
        options = ["--bind-to", bind, "--oversubscribe"]
        if self.network:
            shell = ["--prtemca", "plm_ssh_agent", places.REMOTE_SHELL, "--prefix", self.place]
            rails = ["--prtemca", "prte_if_include", self.network.rail]
            only = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,sm,self", "--mca", "btl_tcp_if_include", self.network.rail]
            hosts = self.network.hostfile(lambda host: f"{host} slots={self.network.per_host(ranks)}")
            options = [*shell, *rails, *only, "--bind-to", "none", "--hostfile", hosts]
        return [self.place / "bin/mpiexec", *root, *options, "-n", str(ranks), *words]


class Canele(Participant):
    def command(self, ranks, words):
        options = ["--bind", "core" if self.bound else "none"]
        if self.network:
            hosts = ",".join(f"{host}:{self.network.per_host(ranks)}" for host in self.network.hosts)
            options = ["--bind", "none", "--hosts", hosts, "--rsh", f"{places.CLUSTER} rsh"]
        return [self.place, "run", *options, "-n", str(ranks), *words]

    def variables(self):
        # One network, like the peers.
        return {"CANELE_RAILS": self.network.rail} if self.network else {}


# Programs over Canelé's own API start in the same way as its MPI programs.
KINDS = {"mpich": Mpich, "intel": Intel, "openmpi": OpenMpi, "canele": Canele, "native": Canele}
