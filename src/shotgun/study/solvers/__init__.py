"""The competitors of the paper's study, each from its published algorithm, one file each."""
