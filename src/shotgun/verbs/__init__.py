"""What the verbs of the command line do: read data, call the library, print.

Each has a file of its name, with a `run` that takes what was given (the options by their names) and
returns the exit code.
"""
