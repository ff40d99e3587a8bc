# SPDX-License-Identifier: Apache-2.0
"""The plots. Every curve has a colour and a line style of its own; the background is white, so that
they are readable on a dark page too."""

import json
import sys

import matplotlib

from figures import plots

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402  (the backend comes first)

# The shares of "quantiles_ns", as in tools/measure/latency.cpp.
SHARES = [percent / 100 for percent in range(100)] + [0.999, 0.9999, 0.99999, 1]
# A row's part of the results, its name, its plain name, colour and line style: Carillon's are solid,
# bounds are dotted, alternatives dashed. The colours are those of Okabe and Ito, and three more.
TAILS = (
    ("call", "Carillon, 48 bytes", "#0072b2", "-"),
    ("call-tuned", "Carillon, 48 bytes, tuned", "#56b4e9", "-"),
    ("call-64-rings", "Carillon, 64 channels watched by a block", "#009e73", "-"),
    ("raw-flag-near", "lower bound: bare flag, near page", "#000000", ":"),
    ("raw-flag-far", "bare flag, far page", "#7f7f7f", ":"),
    ("pinned-flag", "pinned memory polled by hand", "#cc79a7", "--"),
    ("stream-write", "cuStreamWriteValue32", "#b8860b", "--"),
    ("graph-sync", "CUDA graph", "#e69f00", "-."),
    ("launch-spin", "launch, the kernel writes a flag", "#d55e00", "--"),
    ("launch-sync", "launch and synchronize", "#8b0000", "-."),
)
STATISTICS = {
    "p50_ns": ("p50", "#0072b2", "o"),
    "p90_ns": ("p90", "#009e73", "s"),
    "p99_ns": ("p99", "#e69f00", "^"),
    "p999_ns": ("p99.9", "#d55e00", "D"),
}
COPIES = {
    ("writer", "to-device"): ("DeviceWriter, CPU to GPU", "#0072b2", "-", "o"),
    ("copy", "to-device"): ("copy_to_device, CPU to GPU", "#56b4e9", "-", "s"),
    ("reader", "to-host"): ("DeviceReader, GPU to CPU", "#009e73", "-", "^"),
    ("cuda-memcpy", "to-device"): ("cudaMemcpyAsync, CPU to GPU", "#d55e00", "--", "o"),
    ("cuda-memcpy", "to-host"): ("cudaMemcpyAsync, GPU to CPU", "#e69f00", "--", "^"),
    ("memcpy", "to-device"): ("memcpy, CPU to GPU", "#7f7f7f", ":", "s"),
    ("copy", "to-host"): ("the CPU's loads, GPU to CPU", "#cc79a7", ":", "v"),
}
RATES = {
    "a ring per thread, batches of 256": (
        lambda row: row["rings"] == row["producers"] and row["batch"] > 16,
        "#0072b2",
        "-",
        "o",
    ),
    "one ring for all, batches of 16": (
        lambda row: row["rings"] == 1 and row["batch"] == 16 and row["sharing"] == "claims",
        "#009e73",
        "-",
        "s",
    ),
}
POINTS = {
    "lines-8p1r-mutex": ("one ring, a mutex", "#d55e00", "X"),
    "pinned-polling": ("lines polled in pinned memory", "#cc79a7", "P"),
    "bare-stores": ("limit: bare stores of 1 thread", "#000000", "_"),
    "bare-stores-8": ("limit: bare stores of 8 threads", "#7f7f7f", "_"),
}
PLAIN = ticker.FuncFormatter(lambda value, _: f"{value:g}")


def read(folder, name):
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {"results": []}


def title(report, what):
    env = report["environment"]
    emulated = ", EMULATED" if env.get("emulated") else ""
    return f"{what}\n{env['device']}{emulated}, {env.get('date', '')[:10]}, commit {env.get('commit', 'unknown')[:10]}"


def tails(axes, folder):
    report = read(folder, "rtt")
    rows = {row["name"]: row for row in report["results"]}
    for name, label, colour, style in TAILS:
        row = rows.get(name, {})
        if row.get("quantiles_ns"):
            # The share of slower ones; the last quantile is the slowest, at 1 of all.
            shares = [1 - share for share in SHARES[:-1]] + [1 / row["count"]]
            axes.plot(
                [ns / 1000 for ns in row["quantiles_ns"]],
                shares,
                label=label,
                color=colour,
                linestyle=style,
                linewidth=1.8,
            )
    peers = {row["name"]: row for row in read(folder, "peers")["results"]}
    points = (
        ("cudaq-device-call-spin", "CUDA-Q Realtime, sleeps removed *", "#4b0082", "*"),
        ("cudaq-device-call", "CUDA-Q Realtime as shipped *", "#4b0082", "x"),
    )
    for name, label, colour, marker in points:
        if name in peers:
            axes.plot(
                [peers[name][key] / 1000 for key in ("p50_ns", "p99_ns", "p999_ns")],
                [0.5, 0.01, 0.001],
                label=label,
                color=colour,
                marker=marker,
                linestyle="",
                markersize=7,
            )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="round trip, microseconds",
        ylabel="share of slower round trips",
        ylim=(8e-7, 1.3),
        title=title(report, "Round trips from the CPU to the GPU and back"),
    )
    ticks = {
        0.5: "50 %\n(p50)",
        0.1: "10 %\n(p90)",
        0.01: "1 %\n(p99)",
        1e-3: "0.1 %\n(p99.9)",
        1e-4: "0.01 %",
        1e-5: "0.001 %",
        1e-6: "0.0001 %",
    }
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    microseconds(axes.xaxis)
    if peers:
        there = read(folder, "peers")["environment"]
        axes.text(
            0.0,
            -0.17,
            f"* another run, {there['measured']}: {there['device']}, {there['date']}, commit {there['commit']}",
            transform=axes.transAxes,
            fontsize="small",
        )


def microseconds(axis):
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(PLAIN)
    axis.set_minor_locator(ticker.NullLocator())


def load(axes, folder):
    report = read(folder, "load")
    rows = sorted((row for row in report["results"] if row["name"].startswith("load-")), key=lambda row: row["percent"])
    idle = next(row for row in report["results"] if row["name"] == "idle")
    for statistic, (label, colour, marker) in STATISTICS.items():
        axes.plot(
            [row["achieved_per_second"] / 1e6 for row in rows],
            [row[statistic] / 1000 for row in rows],
            marker=marker,
            color=colour,
            label=label,
        )
        axes.axhline(idle[statistic] / 1000, color=colour, linestyle=":", linewidth=1)
    axes.set(
        yscale="log",
        xlim=(0, None),
        xlabel="calls per second, millions (dotted lines: one call at a time)",
        ylabel="from when the call was due\nuntil its reply, microseconds",
        title=title(report, "Calls under load"),
    )
    microseconds(axes.yaxis)


def copies(axes, folder):
    report = read(folder, "copy")
    for (name, direction), (label, colour, style, marker) in COPIES.items():
        rows = sorted(
            (row["bytes"], row["gb_per_s"])
            for row in report["results"]
            if (row["name"], row["direction"]) == (name, direction)
        )
        if rows:
            axes.plot(*zip(*rows), marker=marker, markersize=4, label=label, color=colour, linestyle=style)
    axes.set(yscale="log", xlabel="size of a copy, bytes", ylabel="bandwidth, GB/s", title=title(report, "Copies"))
    axes.set_xscale("log", base=2)
    sizes = {1 << bits: f"{1 << bits % 10}{('', ' Ki', ' Mi')[bits // 10]}" for bits in range(6, 25, 2)}
    axes.set_xticks(list(sizes), list(sizes.values()))
    axes.yaxis.set_major_formatter(PLAIN)


def producers(axes, folder):
    report = read(folder, "rate")
    lines = [row for row in report["results"] if row["name"].startswith("lines-")]
    for label, (belongs, colour, style, marker) in RATES.items():
        rows = {row["producers"]: row for row in lines if belongs(row)}
        points = [rows[count] for count in sorted(rows)]
        rates = [row["per_second"] for row in points]
        spread = [
            [rate - row["per_second_min"] for rate, row in zip(rates, points)],
            [row["per_second_max"] - rate for rate, row in zip(rates, points)],
        ]
        axes.errorbar(
            [row["producers"] for row in points],
            [rate / 1e6 for rate in rates],
            [[each / 1e6 for each in side] for side in spread],
            marker=marker,
            capsize=3,
            color=colour,
            linestyle=style,
            label=label,
        )
    for row in report["results"]:
        if row["name"] in POINTS:
            label, colour, marker = POINTS[row["name"]]
            wide = 26 if marker == "_" else 9
            axes.plot(
                row["producers"],
                row["per_second"] / 1e6,
                marker,
                color=colour,
                markersize=wide,
                markeredgewidth=2,
                label=label,
                linestyle="",
                zorder=3,
            )
    axes.set(
        xlabel="CPU threads that send",
        ylabel="64-byte lines per second, millions",
        ylim=(0, None),
        title=title(report, "Messages from CPU threads to the GPU"),
    )


PLOTS = {"round-trip-tails": tails, "load": load, "copy": copies, "producers": producers}
SIZES = {"round-trip-tails": (9, 6)}


def draw(name, results, path, stamp):
    """Draws one plot. Equal results and the same matplotlib make an equal file."""
    matplotlib.rcParams.update({"svg.hashsalt": "carillon", "figure.facecolor": "white", "axes.facecolor": "white"})
    figure, axes = pyplot.subplots(figsize=SIZES.get(name, (7.5, 4.8)), layout="constrained")
    PLOTS[name](axes, results)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", framealpha=1, markerscale=0.7)
    figure.savefig(path, metadata={"Date": None, "Description": stamp})
    pyplot.close(figure)


def draw_all(results, folder):
    """Draws docs/plots/*.svg; what a result lacks is not drawn."""
    pinned = plots.MATPLOTLIB.partition("==")[2]
    if matplotlib.__version__ != pinned:
        print(f"plots: drawn with matplotlib {matplotlib.__version__}, not with {pinned}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    for name, sources in plots.SOURCES.items():
        if (results / f"{sources[0]}.json").exists():
            draw(name, results, folder / f"{name}.svg", plots.stamp(results, name))
