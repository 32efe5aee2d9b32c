"""A recipe for Spack, in a clone: spack repo add packaging/spack_repo/canele; spack dev-build canele@main."""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Canele(Package):
    """Message passing between processes in user space: an MPI library for the standard ABI, MPICH's and Open MPI's, a launcher, and
    interfaces of its own for Rust, C and Python."""

    license("Apache-2.0 OR MIT")

    version("main")

    variant("python", default=True, description="Build the module for Python")

    depends_on("c", type="build")
    depends_on("rust@1.95:", type="build")
    depends_on("binutils", type="build")
    depends_on("python@3.11:", type=("build", "run"), when="+python")

    extends("python", when="+python")

    provides("mpi@:5.0")

    requires("platform=linux", msg="Canelé runs on Linux")

    def install(self, spec, prefix):
        # Command, libraries, headers, man pages.
        Executable("scripts/install")(prefix)
        if spec.satisfies("+python"):
            which("cargo")("build", "--release", "--package", "canele-python")
            package = join_path(python_platlib, "canele")
            install_tree("python/canele", package)
            install("target/release/lib_native.so", join_path(package, "_native.abi3.so"))

    def setup_run_environment(self, env):
        self.name_compilers(env)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.name_compilers(env)

    def name_compilers(self, env):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIF77", self.prefix.bin.mpif77)
        env.set("MPIF90", self.prefix.bin.mpif90)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpif77 = self.prefix.bin.mpif77
        self.spec.mpifc = self.prefix.bin.mpif90

    @property
    def libs(self):
        return LibraryList([os.path.join(self.prefix.lib, "canele", "libmpi_abi.so")])

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.canele)("run", "-n", "2", "true")
