"""
Text: which words give a library away?
======================================

Text means many features (every word, every pair of words), few of them in each document, and
fewer still that matter. The L1 norm selects those, and the result is small enough to read.

There is no corpus to download: the docstrings of numpy, scipy and scikit-learn are on your disk.
Which library does a paragraph come from?
"""

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

import shotgun

# %%
# One document is one paragraph of prose from a docstring; code, tables and signatures are left
# out. The names of the libraries themselves are removed: that would be too easy.

MODULES = {
    "numpy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.random"],
    "scipy": ["scipy.signal", "scipy.optimize", "scipy.sparse", "scipy.linalg"],
    "scikit-learn": ["sklearn.linear_model", "sklearn.cluster", "sklearn.metrics", "sklearn.svm"],
}
GIVEAWAY = re.compile(r"\b(numpy|scipy|scikit|sklearn|learn|np|sp|ndarray)\b", re.I)


def paragraphs(module: str) -> set[str]:
    found = set()
    for _, thing in inspect.getmembers(importlib.import_module(module)):
        if callable(thing) and (text := inspect.getdoc(thing)):
            for paragraph in text.split("\n\n"):
                prose = " ".join(paragraph.split())
                if len(prose) > 80 and not re.search(r">>>|---|\.\. ", prose):
                    found.add(GIVEAWAY.sub(" ", prose))
    return found


texts, authors = [], []
for author, modules in MODULES.items():
    prose = sorted(set().union(*(paragraphs(module) for module in modules)))
    texts += prose
    authors += [author] * len(prose)

# %%
# Words and pairs of words, as a sparse matrix that stays sparse.

train, test, y_train, y_test = train_test_split(
    texts, authors, test_size=0.3, random_state=0, stratify=authors
)
words = TfidfVectorizer(ngram_range=(1, 2), min_df=4, sublinear_tf=True)
A, B = words.fit_transform(train), words.transform(test)

model = shotgun.LogisticRegression(C=10.0, class_weight="balanced").fit(A, y_train)
used = np.count_nonzero(np.any(model.coef_ != 0, axis=0))
print(f"{A.shape[0]} paragraphs, {A.shape[1]} words and pairs, {used} of them used")
print(f"right about {model.score(B, y_test):.1%} of {len(test)} new paragraphs")
print(f"certified: the objective is within {np.max(model.dual_gap_):.1e} of its minimum")

# %%
# The words with the largest weights, for each library.

names = words.get_feature_names_out()
figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), layout="constrained")
for ax, author, weights, colour in zip(
    axes, model.classes_, model.coef_, ("tab:blue", "tab:orange", "tab:green"), strict=True
):
    top = np.argsort(weights)[-14:]
    ax.barh(names[top], weights[top], color=colour, height=0.7)
    ax.set(title=author, xlabel="weight")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
plt.show()
