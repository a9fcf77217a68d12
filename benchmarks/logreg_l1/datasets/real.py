from benchmark_utils import RealDataset
from problems import CLASSES


class Dataset(RealDataset):
    name = "real"
    parameters = {"data": list(CLASSES)}
