from benchmark_utils import TinyDataset
from families import labels


class Dataset(TinyDataset):
    name = "tiny"
    targets = staticmethod(labels)
