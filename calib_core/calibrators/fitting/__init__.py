"""How the maps are fitted: losses with their derivatives, and the solvers that bring them to their minimum."""
