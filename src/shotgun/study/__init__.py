"""The paper's experiments, alive: its competitors, its data, its figures, its claims."""
