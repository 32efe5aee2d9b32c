"""Poisson's equation on a grid of 64 x 64, by conjugate gradients with the preconditioner that PETSc chooses by itself for each rank's block."""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

N = 64
grid = PETSc.DMDA().create(dim=2, sizes=(N, N), stencil_width=1)
matrix = grid.createMatrix()
(left, right), (below, above) = grid.getRanges()
at = PETSc.Mat.Stencil()
near = PETSc.Mat.Stencil()
for j in range(below, above):
    for i in range(left, right):
        at.index = (i, j)
        matrix.setValueStencil(at, at, 4.0)
        for k, l in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= k < N and 0 <= l < N:
                near.index = (k, l)
                matrix.setValueStencil(at, near, -1.0)
matrix.assemble()
given, found = matrix.createVecs()
given.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType("cg")
solver.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve(given, found)
norm = found.norm()
if PETSc.COMM_WORLD.rank == 0:
    print(f"converged {solver.getConvergedReason() > 0}, norm {norm:.6f}", flush=True)
