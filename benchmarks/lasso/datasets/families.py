from benchmark_utils import FamilyDataset


class Dataset(FamilyDataset):
    name = "families"
    parameters = {"family": ["S", "XL", "D", "T", "C"]}
