from benchmark_utils import FamilyDataset


class Dataset(FamilyDataset):
    name = "families"
    parameters = {"family": ["LR", "Z", "Z32", "W"]}
