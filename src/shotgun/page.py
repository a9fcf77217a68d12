"""page: a fit as one page of HTML that needs nothing but a browser, not even a network.

Names of features, classes and files come from strangers: whatever is not :class:`Html` is escaped,
tables travel as JSON and are shown as text, and the page's own policy lets no script run but ours.
"""

from __future__ import annotations

import io
import json
import math
import re
import shlex
import sys
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import shotgun
from shotgun import survey
from shotgun.inspection import names_of, optional
from shotgun.model import describe, fingerprint
from shotgun.tensors import Record

if TYPE_CHECKING:
    from shotgun import Path as Fits
    from shotgun.io import Data
    from shotgun.options import Given

Columns = Mapping[str, Sequence[Any]]
Figures = Mapping[str, Any]


class Html(str):
    """Text that is HTML already."""


def element(name: str, *inside: str, **attributes: str) -> Html:
    """An element; what is inside is escaped unless it is HTML."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    content = "".join(part if isinstance(part, Html) else escape(part) for part in inside)
    return Html(f"<{name}{told}>{content}</{name}>")


# The page


def page(title: str, lead: str, parts: Iterable[Html], *, status: str = "") -> str:
    """A whole page: a headline, and parts below it.

    Parameters
    ----------
    title, lead : str
        The headline, and a sentence that says more.
    parts : iterable of Html
        As :func:`row`, :func:`section`, :func:`table` make them.
    status : str
        How it ended, in a word: "converged" is good.
    """
    mark = "good" if status == "converged" else "bad"
    style, script = (
        Path(__file__).with_name(f"page.{k}").read_text("utf-8") for k in ("css", "js")
    )
    badge = [element("p", status, class_=f"status {mark}")] if status else []
    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    body = element(
        "body",
        element("header", *badge, element("h1", title), element("p", lead, class_="lead")),
        element("main", *parts),
        element("footer", f"shotgun {shotgun.__version__} · {made}"),
        element("script", Html(script)),
    )
    head = Html(
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
    )
    head = element("head", head, element("title", title), element("style", Html(style)))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    """Nothing from the network; of styles and scripts these alone, by their hashes."""
    hashes = [b64encode(sha256(k.encode()).digest()).decode() for k in (style, script)]
    return (
        f"default-src 'none'; style-src-elem 'sha256-{hashes[0]}'; style-src-attr 'unsafe-inline'; "
        f"script-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"
    )


def section(heading: str, *inside: str) -> Html:
    """A card with a heading."""
    return element("section", element("h2", heading), *inside)


def row(*sections: Html) -> Html:
    """Cards side by side, where there is room."""
    return element("div", *sections, class_="row")


def tiles(numbers: Mapping[str, str]) -> Html:
    """The few numbers that matter most."""
    pairs = (element("div", element("dt", k), element("dd", v)) for k, v in numbers.items())
    return element("dl", *pairs, class_="tiles")


def facts(pairs: Mapping[str, str]) -> Html:
    """Names and what belongs to them."""
    parts = (element("dt", k) + element("dd", v) for k, v in pairs.items())
    return element("dl", *map(Html, parts), class_="facts")


def table(columns: Columns, *, label: str, by_name: str = "", bars: Sequence[str] = ()) -> Html:
    """A table that can be sorted by every column.

    Parameters
    ----------
    columns : mapping of str to sequence
        Numbers or texts under their names. The rows are in the order of the first one.
    label : str
        What the table is, for those who cannot see it.
    by_name : str
        The column of texts that a box above the table filters; none by default.
    bars : sequence of str
        The columns of numbers that get a bar, all on one scale.
    """
    names = list(columns)
    shown = {
        "columns": [[_number(value) for value in columns[name]] for name in names],
        "filter": names.index(by_name) if by_name else None,
        "bars": [names.index(name) for name in bars],
    }
    content = json.dumps(shown, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    search = element("label", f"Filter by {by_name} ", Html('<input type="search">'))
    heads = (
        element(
            "th",
            element("button", name, type="button"),
            scope="col",
            aria_sort="none" if j else "ascending",
        )
        for j, name in enumerate(names)
    )
    grid = element("table", element("thead", element("tr", *heads)), element("tbody"))
    return element(
        "div",
        element("p", *([search] if by_name else []), element("output"), class_="tools"),
        element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=label),
        element("button", type="button", class_="more", hidden=""),
        element("noscript", element("p", "The table needs JavaScript.")),
        element("script", Html(content), type="application/json"),
        class_="sortable",
    )


def _number(value: Any) -> Any:
    """A value as JSON knows it."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Pictures

_COLORS = {  # of matplotlib's figures, which must be seen on dark paper too
    "#000000": "currentColor",
    "#595959": "var(--quiet)",
    "#808080": "var(--quiet)",
    "#b0b0b0": "var(--quiet)",
    "#bfbfbf": "var(--faint)",
}
_UNTOLD = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def picture(title: str, figure: Any, *below: Html, size: tuple[float, float] = (6.2, 4.3)) -> Html:
    """A card with a figure of matplotlib in it, whose colours follow the page."""
    matplotlib = optional("matplotlib", "a report")
    for ax in figure.axes:
        for text in ax.get_legend().get_texts() if ax.get_legend() else []:
            text.set_parse_math(False)  # a $ in a name is a $
        if ax.get_xscale() == "linear":
            ax.locator_params(axis="x", nbins=5)
    figure.set_size_inches(size)
    drawn = io.StringIO()
    look = {"svg.fonttype": "none", "svg.hashsalt": title}
    with matplotlib.rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has it
        figure.savefig(drawn, format="svg", transparent=True, metadata=_UNTOLD)
    svg = drawn.getvalue()
    svg = re.sub(r"<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r"<[^>]+>", _inlined, svg)
    return section(title, element("figure", Html(svg), role="img", aria_label=title), *below)


def _inlined(tag: re.Match[str]) -> str:
    """A tag of an SVG file, as it stands within a page."""
    text = tag[0]
    if text.startswith("<svg"):
        return "<svg " + " ".join(re.findall('viewBox="[^"]*"', text)) + ">"
    text = re.sub(r'^<g id="[^"]*"', "<g", text).replace("xlink:href", "href")
    text = re.sub(r"#[0-9a-f]{6}\b", lambda color: _COLORS.get(color[0], color[0]), text)
    return re.sub(r"(\d\.\d\d)\d+", r"\1", text)


def gaps(fits: Fits) -> Any:
    """A figure of the gap of every fit along a path."""
    figure = optional("matplotlib.figure", "a report").Figure(layout="constrained")
    ax = figure.subplots()
    ax.plot(fits.lams, fits.gaps, marker="o", markersize=3.5, linewidth=1.4, label="gap")
    ax.axhline(fits.tolerance, color="0.35", linestyle="--", linewidth=1, label="tolerance")
    ax.set(xscale="log", yscale="log", xlabel="lam (strong to weak penalty)", ylabel="duality gap")
    if len(fits) > 1:
        ax.set_xlim(fits.lams[0], fits.lams[-1])
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
    return figure


# What fits have to tell


def of_model(
    model: Any, given: Given, data: Data, figures: Figures, choices: Columns | None = None
) -> str:
    """The page of a fitted model; `choices` are those that cross-validation had."""
    told = describe(model)
    status = _status(_each(told["certificate"]["status"]))
    below = [_plain_table(choices)] if choices else []
    parts = [
        tiles(_numbers_of_model(told, given)),
        row(*_pictures(figures, *below), section("Certificate", *_certificate(told, given))),
        section("Weights", *_weights(told)),
        row(_parallelism(given, data, _ran(told)), _source(given, data)),
        _command(),
    ]
    how = f", chosen by cross-validation with {given.folds} folds" if choices else ""
    lead = f"{_problem(given)}; lam = {told['lam']:.6g}{how}. {_fitted_to(given, data)}"
    return page(_title(told["estimator"], given), lead, parts, status=status)


def of_path(
    fits: Fits, given: Given, data: Data, figures: Figures, columns: Columns, P: int
) -> str:
    """The page of a path: `columns` has a row for each fit; P weights moved at once at most, 0 if
    all fits were made before."""
    status = _status(fits.statuses) if len(fits) == given.n_lams else "incomplete"
    used = {"P used": f"at most {P:,} weights at once"} if P else {}
    parts = [
        tiles(_numbers_of_path(fits, given)),
        row(*_pictures(figures)),
        section("Weights", *_weights_of_path(fits, data)),
        section("Fits", table({"fit": range(1, len(fits) + 1), **columns}, label="Fits")),
        row(
            section("Certificate", *_certificate_of_path(fits, given)),
            _parallelism(given, data, used),
            _source(given, data),
        ),
        _command(),
    ]
    ends = f"{len(fits)} lams from {fits.lams[0]:.6g} to {fits.lams[-1]:.6g}"
    lead = f"{_problem(given)}; {ends}. {_fitted_to(given, data)}"
    return page(_title("Path", given), lead, parts, status=status)


def _each(value: Any) -> list[Any]:
    """Of one fit or several."""
    return value if isinstance(value, list) else [value]


def _status(statuses: Sequence[str]) -> str:
    """The first that is not as it should be."""
    return next((s for s in statuses if s != "converged"), "converged")


def _pictures(figures: Figures, *below: Html) -> list[Html]:
    """A card for each figure; the first has something below it."""
    each = enumerate(figures.items())
    return [picture(title, figure, *(below if k == 0 else ())) for k, (title, figure) in each]


def _title(what: str, given: Given) -> str:
    return f"{what} of {given.target}" if given.target else f"{what} on {_file(given)}"


def _problem(given: Given) -> str:
    """What was minimised, in words."""
    loss = str(given.loss).replace("_", " ").capitalize()
    penalty = "L1 penalty" if given.no_intercept else "L1 penalty, intercept"
    scaled = ", features scaled to unit variance" if given.standardize else ""
    return f"{loss} loss, {penalty}{scaled}"


def _fitted_to(given: Given, data: Data) -> str:
    n, d = data.A.shape
    return f"Fitted to {_file(given)}: {n:,} samples of {d:,} features."


def _file(given: Given) -> str:
    return "standard input" if given.data == "-" else Path(given.data).name


def _numbers_of_model(told: Record, given: Given) -> dict[str, str]:
    certificate = told["certificate"]
    relative = _relative(_each(certificate["dual_gap"]), _each(certificate["tolerance"]), given)
    engines = dict.fromkeys(ran["engine"] for ran in _each(certificate["parallelism"]))
    return {
        "features with a weight": f"{told['n_nonzero']:,} of {told['n_features']:,}",
        "lam": f"{told['lam']:.4g}",
        f"relative gap ({given.tol:g} asked for)": relative,
        "engine": ", ".join(engines),
    }


def _numbers_of_path(fits: Fits, given: Given) -> dict[str, str]:
    d, k = fits.X.shape
    relative = _relative(fits.gaps.tolist(), [fits.tolerance] * k, given)
    return {
        "features that ever have a weight": f"{len(np.unique(fits.X.indices)):,} of {d:,}",
        "lams": f"{k:,}",
        f"largest relative gap ({given.tol:g} asked for)": relative,
        "epochs": f"{fits.n_epochs.sum():,}",
    }


def _relative(gaps: Sequence[float], tolerances: Sequence[float], given: Given) -> str:
    """The largest gap in units of --tol, if that can be said."""
    parts = [gap / tol for gap, tol in zip(gaps, tolerances, strict=True) if tol > 0]
    return f"{max(parts) * given.tol:.1e}" if parts else f"{max(gaps):.1e}"


# The cards


def _certificate(told: Record, given: Given) -> list[Html]:
    certificate = told["certificate"]
    names = ("objective", "dual_gap", "tolerance", "status")
    columns = {name.replace("dual_", ""): _each(certificate[name]) for name in names}
    if len(columns["objective"]) == 1:
        shown = facts({name: _text(values[0]) for name, values in columns.items()})
    else:
        shown = _plain_table({"class": told["classes"]} | columns)
    exact = "gradient" not in _each(certificate.get("certificate", "gap"))
    return [shown, element("p", _meaning(exact, given.tol), class_="note")]


def _certificate_of_path(fits: Fits, given: Given) -> list[Html]:
    good = fits.statuses.count("converged")
    shown = {
        "converged": f"{good:,} of {len(fits):,} fits",
        "largest gap": _text(fits.gaps.max()),
        "tolerance": _text(fits.tolerance),
    }
    exact = "gradient" not in fits.certificates
    return [facts(shown), element("p", _meaning(exact, given.tol), class_="note")]


def _meaning(exact: bool, tol: float) -> str:
    if not exact:
        return "Some weights have no penalty: the gap is an estimate from the gradient, no bound."
    return (
        "Proved by duality: no weights whatsoever have an objective that is lower by more than the "
        f"gap. The tolerance is {tol:g} times the objective without any weight; the relative gap "
        "is on the same scale."
    )


def _weights(told: Record) -> list[Html]:
    weights, d = told["weights"], told["n_features"]
    if not weights:
        return [element("p", "Every weight is zero.")]
    values = list(zip(*(_each(weight["weight"]) for weight in weights), strict=True))
    names = ["weight"] if len(values) == 1 else [f"weight of {c}" for c in told["classes"]]
    columns = {
        "rank": range(1, len(weights) + 1),
        "feature": [weight["feature"] for weight in weights],
        **dict(zip(names, values, strict=True)),
    }
    labels = [""] if len(values) == 1 else [f" of {c}" for c in told["classes"]]
    intercepts = ", ".join(
        f"{_text(value)}{label}"
        for value, label in zip(_each(told["intercept"]), labels, strict=True)
    )
    return [
        table(columns, label="Weights", by_name="feature", bars=names),
        element("p", f"Intercept {intercepts}. {_left_out(d - len(weights), d)}", class_="note"),
    ]


def _weights_of_path(fits: Fits, data: Data) -> list[Html]:
    X = fits.X.tocsr()
    used = np.flatnonzero(np.diff(X.indptr))
    first = np.array([X.indices[X.indptr[j] : X.indptr[j + 1]].min() for j in used], dtype=int)
    order = np.argsort(first, kind="stable")
    used, first = used[order], first[order]
    if not len(used):
        return [element("p", "Every weight is zero.")]
    columns = {
        "entry": range(1, len(used) + 1),
        "feature": names_of(used, data.feature_names),
        "enters at lam": fits.lams[first],
        "last weight": X[used][:, [-1]].toarray().ravel(),
    }
    d = fits.X.shape[0]
    return [
        table(columns, label="Weights", by_name="feature", bars=["last weight"]),
        element("p", _left_out(d - len(used), d), class_="note"),
    ]


def _left_out(count: int, d: int) -> str:
    return f"{count:,} of {d:,} features have no weight and are left out." if count else ""


def _ran(told: Record) -> dict[str, str]:
    """What the fits did: their engines, and the spectrum of their last working sets."""
    runs = _each(told["certificate"]["parallelism"])
    last = runs[-1]
    used = {
        "engine that ran": ", ".join(dict.fromkeys(run["engine"] for run in runs)),
        "P used": f"at most {max(run['P'] for run in runs):,} weights at once",
    }
    if last["rho"] is None or last["ideal_p"] is None:
        return used
    return used | {"last working set": f"rho {last['rho']:.4g}, P* {last['ideal_p']:,}"}


def _parallelism(given: Given, data: Data, used: dict[str, str]) -> Html:
    found = survey.parallelism(data.A, data.weights, not given.no_intercept, given.threads)
    shown = {
        "rho of the data": f"{found.rho:.5g}",
        "P* = ⌈d / rho⌉": f"{found.ideal_p:,}",
        **used,
        "engine for such data": f"{found.engine}: {found.why}",
    }
    note = (
        f"rho is 1 where no features correlate and {found.d:,} where all are alike. Up to P* "
        "weights can move at once, each unaware of the others, and save as many iterations; "
        "engines that reckon with the others may move more."
    )
    return section("Parallelism", facts(shown), element("p", note, class_="note"))


def _source(given: Given, data: Data) -> Html:
    told = fingerprint(data.A, np.asarray(data.y), data.weights)
    n, d = told["shape"]
    shown = {
        "file": given.data if given.data != "-" else "standard input",
        "shape": f"{n:,} samples × {d:,} features",
        "density": f"{100 * told['nnz'] / (n * d):.4g} % ({told['nnz']:,} entries)",
        f"target {given.target or ''}".rstrip(): survey.target(np.asarray(data.y)),
        **{k: getattr(given, k) for k in ("weights", "offset") if getattr(given, k) is not None},
        "fingerprint": told["hash"],
    }
    return section("Data", facts(shown))


def _command() -> Html:
    command = shlex.join(["shotgun", *sys.argv[1:]])
    return section("Command", element("pre", element("code", command)))


def _plain_table(columns: Columns) -> Html:
    """A small table that stays as it is."""
    rows = zip(*columns.values(), strict=True)
    head = element("tr", *(element("th", name, scope="col") for name in columns))
    body = (element("tr", *(element("td", _text(value)) for value in each)) for each in rows)
    return element("table", element("thead", head), element("tbody", *body), class_="plain")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
