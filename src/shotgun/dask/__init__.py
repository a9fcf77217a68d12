"""A matrix on a Dask cluster: shards of rows, or tiles of columns, where the workers have them.

::

    client = distributed.Client("tcp://...")
    shotgun.Lasso(alpha=0.1).fit(X, y)                      # dask.array or dask.dataframe
    A = shotgun.dask.read(["part-0.svm", "part-1.svm"])     # each file read by a worker
    shotgun.solve(A, A.y, lam=1.0)

The loop runs here and owns x and Ax. In a round every worker answers for the shards that it has: a
scan is a task for each shard and a tree of sums over them, and the columns that matter travel here,
once. Shards never change and rounds leave nothing behind, so that a lost worker costs what it had
and no more; sums run in the order of the shards, so that the answer has the same bits for any
number of workers.
"""

try:
    import dask
    import dask.array  # noqa: F401
    import distributed  # noqa: F401 (loaded while QUIET is set, it would lose its own settings)
except ImportError as error:
    raise ImportError("matrices on a cluster need: pip install 'shotgun-l1[dask]'") from error

from shotgun.dask.cluster import Matrix
from shotgun.dask.collect import map_rows, matrix, read
from shotgun.dask.shard import ShardError

__all__ = ["Matrix", "ShardError", "map_rows", "matrix", "read"]
