import numpy as np, ufl
import dolfinx.fem.petsc
from dolfinx import fem, mesh
from mpi4py import MPI
from petsc4py.PETSc import ScalarType
msh = mesh.create_unit_square(MPI.COMM_WORLD, 32, 32)
# Later releases have a function of that name in lower case.
V = getattr(fem, "functionspace", fem.FunctionSpace)(msh, ("Lagrange", 1))
facets = mesh.locate_entities_boundary(msh, 1, lambda x: np.isclose(x[0], 0.0) | np.isclose(x[0], 1.0))
bc = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(V, 1, facets), V)
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
x = ufl.SpatialCoordinate(msh)
f = 10 * ufl.exp(-((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2) / 0.02)
problem = fem.petsc.LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, f * v * ufl.dx, bcs=[bc], petsc_options={"ksp_type": "preonly", "pc_type": "lu"})
uh = problem.solve()
norm = msh.comm.allreduce(fem.assemble_scalar(fem.form(uh * uh * ufl.dx)))
if msh.comm.rank == 0: print(f"norm {norm:.12f}")
