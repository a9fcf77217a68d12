from benchmark_utils import RealDataset
from problems import REAL


class Dataset(RealDataset):
    name = "real"
    parameters = {"data": list(REAL)}
