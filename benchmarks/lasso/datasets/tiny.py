from benchmark_utils import TinyDataset


class Dataset(TinyDataset):
    name = "tiny"
