"""How each implementation is started, in shared memory and between two hosts. Owns its options; runs nothing."""

import copy
import os

from . import places

# What of our environment would reach into a peer's.
FORGOTTEN = ("LD_LIBRARY_PATH", "LD_PRELOAD")


class Participant:
    """One implementation; `network` is where two hosts are, if it is between hosts; `bound` says whether ranks are bound. Between hosts
    none is: both are one machine, and each would begin at its first processor."""

    abi = "standard"

    def __init__(self, place, network, bound):
        self.place = place
        self.network = network
        self.bound = bound

    def unbound(self):
        """The participant for programs that start processes, or whose ranks have several threads: nothing is said of binding, since MPICH's and
        Open MPI's launchers cannot bind started processes too, and threads need a processor each."""
        other = copy.copy(self)
        other.bound = None
        return other

    def command(self, ranks, words):
        """The command line that runs `words` on so many ranks."""
        raise NotImplementedError

    def variables(self):
        """What is set in its environment."""
        return {}

    def environment(self):
        ours = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
        if self.network:
            ours.update(self.network.variables())
        return ours | self.variables()

    def line(self, ranks, words):
        """The same where it starts: between hosts on the first of them."""
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
        # Binds by itself.
        options = []
        if self.network:
            options = ["-f", self.network.hostfile(str), "-ppn", str(self.network.per_host(ranks))]
        return [self.place / "bin/mpiexec", *options, "-n", str(ranks), *words]

    def variables(self):
        # The programs were linked by MPICH's wrapper: this library comes first.
        found = {"LD_LIBRARY_PATH": str(self.place / "lib")}
        if self.bound is False or self.network:
            found["I_MPI_PIN"] = "0"
        if not self.network:
            return found
        return found | {
            "I_MPI_HYDRA_BOOTSTRAP": "ssh",
            "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(places.REMOTE_SHELL),
            "I_MPI_HYDRA_IFACE": self.network.rail,
            # With `ofi` alone its messages leave TCP.
            "I_MPI_FABRICS": "shm:ofi",
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": self.network.rail,
            "FI_PROVIDER_PATH": str(self.place / "lib"),
        }


class OpenMpi(Participant):
    abi = "openmpi"

    def command(self, ranks, words):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        # It refuses to bind several ranks to a processor.
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
        # As the peers: over one network.
        return {"CANELE_RAILS": self.network.rail} if self.network else {}


# Programs over Canelé's own API are started as its MPI programs.
KINDS = {"mpich": Mpich, "intel": Intel, "openmpi": OpenMpi, "canele": Canele, "native": Canele}
