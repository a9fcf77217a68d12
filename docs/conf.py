"""The site. `sphinx-build -W docs build/site`, with the extra `docs` installed."""

import shutil
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx_gallery.sorting import ExplicitOrder

project = "Shotgun"
author = "The Shotgun developers"
html_title = "Shotgun"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "use_edit_page_button": False,
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
}
_ALONE = (
    "index",
    "start",
    "how-it-works",
    "coming-from",
    "scikit-learn",
    "paper",
    "benchmarks",
    "extending",
    "notation",
    "hacking",
)
html_sidebars = {page: [] for page in _ALONE}
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["compare", "study", "**/GALLERY_HEADER.rst"]
nitpicky = True

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the order of the gallery cannot be pickled

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_certificate.py",
            "plot_parallel.py",
            "plot_lambda.py",
            "plot_text.py",
            "plot_genomics.py",
            "plot_camera.py",
            "plot_index.py",
            "plot_counts.py",
            "plot_outliers.py",
            "plot_stability.py",
            "plot_disk.py",
        ]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "write_computation_times": False,  # a page of its own that fetches scripts from elsewhere
    "thumbnail_size": (800, 400),
    "backreferences_dir": "api/backreferences",
    "doc_module": ("shotgun",),
    "reference_url": {"shotgun": None},
    "image_scrapers": ("matplotlib",),
}


def skip_foreign(app, what, name, thing, skip, options):
    """What classes inherit from scikit-learn is described there."""
    home = getattr(thing, "__module__", None) or getattr(
        getattr(thing, "fget", None), "__module__", ""
    )
    return skip or not str(home).startswith("shotgun")


def show_study(app, doctree):
    """The study is a page of its own: a link opens it, where Sphinx would have it downloaded."""
    for link in list(doctree.findall(addnodes.download_reference)):
        if link["reftarget"] == "study/index.html":
            page = nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True)
            link.replace_self(page)


def copy_study(app, failure):
    if failure is None:
        here, there = Path(app.srcdir) / "study", Path(app.outdir) / "study"
        shutil.copytree(here, there, dirs_exist_ok=True)


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("doctree-read", show_study, priority=0)
    app.connect("build-finished", copy_study)
