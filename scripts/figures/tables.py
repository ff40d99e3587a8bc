# SPDX-License-Identifier: Apache-2.0
"""The generated parts of pages: BLOCKS[NAME] returns the text between `<!-- NAME: begin -->` and
`<!-- NAME: end -->`."""

import functools
import json
import re
import textwrap

from figures import markdown, names, targets, values
from figures.values import digits

OTHERS = ("mutants",)  # blocks that scripts/mutants fills
NOT_MEASURED = "Not measured yet."
HEADS = {"min_ns": "min", "p50_ns": "p50", "p90_ns": "p90", "p99_ns": "p99", "p999_ns": "p99.9", "max_ns": "max"}
LATENCIES = tuple(HEADS)
FIGURES = {
    "partly_seen": "lines partly there",
    "quads_torn": "quads torn",
    "rows": "rows of several lines",
    "data_stale": "data older than what names them",
    "rounds": "rings begun",
    "overlapping": "of them told of the choice while sending",
}

# Rows of scripts/latency.
SETTINGS = {
    "baseline": "no setting: any core, nothing else runs",
    "one-core": "the process on one core",
    "two-cores": "the process on two cores",
    "two-cores-fifo": "the process on two cores, with SCHED_FIFO",
    "busy-all": "any core, with a busy loop for each processor",
    "busy-others": "the process on two cores, with a busy loop on each other core",
    "busy-sibling": "the process on one core, with a busy loop on the core's other thread",
    "call-after-sleep": "after a pause in which the thread slept",
    "call-after-spin": "after a pause in which the thread looked at a clock",
    "call-after-warm": "after a pause in which the thread called `warm()`",
}


class Folder:
    """The results of a folder."""

    def __init__(self, path):
        self.path = path

    @functools.cache
    def read(self, name):
        """The content of a file; empty if it is not there."""
        path = self.path / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @functools.cached_property
    def peers(self):
        """Other systems; not measured by scripts/gpu-check, so that a new folder has none of them."""
        try:
            return values.load(self.path, "peers")
        except values.BadKey:
            return {}

    @functools.cached_property
    def summary(self):
        return summary(self)

    @functools.cached_property
    def longest_verify(self):
        """The longest run of the litmus tests, which need not be of this commit; None if there is none."""
        return max(
            self.path.glob("verify*.json"),
            default=None,
            key=lambda path: json.loads(path.read_text())["lines_to_device"],
        )


def summary(folder):
    rtt = folder.read("rtt")
    env = rtt["environment"]
    figures = {
        "commit": targets.commit_of(rtt) or "unknown",
        "gpu": env["device"],
        "driver": env["kernel_driver"],
        "cpu": env["cpu"],
        "date": env["date"],
    }
    measured = targets.speed(folder.path)
    figures.update({key: value for key, value in measured.items() if key.startswith(("path.", "runtime."))})
    for row in rtt["results"]:
        for stat in ("p50_ns", "p99_ns", "p999_ns"):
            figures[f"rtt.{row['name']}.{stat}"] = row[stat]
    figures.update(measured)
    figures.update(targets.runtime(folder.path, figures["commit"]))
    if folder.longest_verify:
        figures["verify.file"] = folder.longest_verify.name
        counts = json.loads(folder.longest_verify.read_text())
        # An older run may lack one.
        figures.update(
            {
                f"verify.{key}": counts[key]
                for key in ("lines_to_device", "lines_to_host", "lines_mpmc_to_device", "violations")
                if key in counts
            }
        )
    return figures


def machine(env, commit=None):
    """The machine, the date and the commit that figures belong to."""
    emulated = " (EMULATED: threads of the CPU)" if env.get("emulated") else ""
    parts = [
        f"{env['device']}{emulated}",
        env.get("cpu"),
        f"driver {env['kernel_driver']}" if env.get("kernel_driver") else None,
        env.get("date", "")[:10],
        f"commit {(commit or env.get('commit', 'unknown'))[:10]}",
    ]
    return ", ".join(part for part in parts if part)


def us(ns):
    return digits(ns / 1000)


def table(heads, rows):
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def titled(report, text, heads, rows):
    """A table, and above it the machine of its figures and what they are."""
    if not rows:
        return NOT_MEASURED
    return "\n".join([f"{machine(report['environment'])}{text}", "", *table(heads, rows)])


# Of fewer samples the p99.9 is the longest one.
LEAST_SAMPLES = {"p999_ns": 1000}


def latency_row(row, what, columns=LATENCIES):
    def shown(key):
        return key in row and row.get("count", LEAST_SAMPLES.get(key, 0)) >= LEAST_SAMPLES.get(key, 0)

    return [what, *(us(row[key]) if shown(key) else "" for key in columns)]


def latency_heads(columns=LATENCIES):
    return [HEADS[key] for key in columns]


def capital(text):
    return text[0].upper() + text[1:]


def by_name(rows):
    return {row["name"]: row for row in rows if "p50_ns" in row}


def named(row):
    """A row's plain name, and the one that it has in its file."""
    plain = names.plain(row["name"])
    return f"{plain} (`{row['name']}`)" if plain else f"`{row['name']}`"


def headline(folder):
    rtt = folder.read("rtt")
    rows = by_name(rtt["results"])
    env = rtt["environment"]
    others = [(name, what) for name, what in names.HEADLINE if name in rows]
    listed = [f"{what} {us(rows[name]['p50_ns'])} us" for name, what in others]
    device = f"an {env['device']}" if env["device"].startswith("NVIDIA") else f"the {env['device']}"
    text = f"On {device}, a call with 48 bytes each way takes **{us(rows['call']['p50_ns'])} us** (p50"
    text += f", commit {targets.commit_of(rtt)[:10]})."
    if listed:
        joined = ", ".join(listed[:-1]) + " and " + listed[-1] if len(listed) > 1 else listed[0]
        text += f"\n{capital(joined)}."
    return text


def short(folder):
    """README.md's table: round trips beside the alternatives."""
    rtt, peers = folder.read("rtt"), folder.peers
    columns = ("p50_ns", "p99_ns", "p999_ns")
    parts = {
        "results": by_name(rtt["results"]),
        "users": by_name(rtt.get("users", [])),
        "peers": by_name(peers.get("results", [])),
    }
    pause, processors = (rtt["environment"].get(key) for key in ("pause_ms", "processors"))
    rows = [
        latency_row(parts[part][name], what.format(pause=f"{pause:g} ms" if pause else "some ms"), columns)
        for part, name, what in names.SHORT
        if name in parts[part]
    ]
    lines = [
        f"From the CPU to a running kernel and back. {machine(rtt['environment'])}"
        f"{f'; {processors} processors' if processors else ''}:",
        "",
        *table(("", "p50, us", "p99, us", "p99.9, us"), rows),
    ]
    if parts["peers"]:
        there = peers["environment"]
        lines += [
            "",
            f"\\* Another run, {there['measured']}: {machine(there)}; 48 bytes each way. In that run "
            f"Carillon's call took {us(parts['peers']['call']['p50_ns'])} us and the bare flag "
            f"{us(parts['peers']['raw-flag-near']['p50_ns'])} us.",
        ]
    rate = folder.read("rate")
    costs = {row["name"]: row["ns"] for row in rate.get("results", []) if "ns" in row}
    if {"try-push-single", "try-push-batched", "store-fence"} <= set(costs):
        there = machine(rate["environment"])
        where = "" if there == machine(rtt["environment"]) else f" ({there})"
        lines += [
            "",
            f"Sending without a reply{where}: `try_push` takes {digits(costs['try-push-single'])} ns of the caller's "
            f"time (a bare 64-byte store and its fence: {digits(costs['store-fence'])} ns), and `try_push_n` of 64 "
            f"messages takes {digits(costs['try-push-batched'])} ns per message.",
        ]
    return "\n".join(lines)


def round_trips(folder):
    rtt = folder.read("rtt")
    env = rtt["environment"]
    lines = [
        f"{machine(env)}; {env['store_instruction']} stores; {env['iterations']} round trips each, in {env['rounds']} "
        f"rounds that take turns; microseconds. The clock's own {digits(env['clock_cost_ns'])} ns are in each figure.",
        "",
        *table(("", *latency_heads()), [latency_row(row, named(row)) for row in rtt["results"]]),
    ]
    return "\n".join(lines)


def of_users(which):
    def block(folder):
        """A table of users' calls."""
        rtt = folder.read("rtt")
        rows = [row for row in rtt.get("users", []) if row["table"] == which]
        if not rows:
            return NOT_MEASURED
        columns = [key for key in LATENCIES[:-1] if any(key in row for row in rows)]
        per_second = any("per_second" in row for row in rows)
        shown = []
        for row in rows:
            cells = latency_row(row, named(row), columns)
            if "why_not" in row:
                cells[1 if columns else 0] += row["why_not"] if columns else f": {row['why_not']}"
            if per_second:
                cells.append(digits(row["per_second"] / 1e6) if "per_second" in row else "")
            shown.append(cells)
        heads = ["", *latency_heads(columns), *(["million/s"] if per_second else [])]
        return "\n".join(table(heads, shown))

    return block


def users(folder):
    env = folder.read("rtt")["environment"]
    if not folder.read("rtt").get("users"):
        return NOT_MEASURED
    states = ", ".join(state["name"] for state in env["idle_states"]) or "none visible"
    return (
        f"{machine(env)}; {env['user_iterations']} calls per row in {env['user_rounds']} rounds that take turns; "
        "microseconds.\nThe kernels have default options and "
        f"{'a' if env['profile'] else 'no'} profile of `carillon tune`; "
        f"the pause is {env['pause_ms']:g} ms.\nC-states: {states}; governor: {env['governor'] or 'none visible'}."
    )


def rates(folder):
    rate = folder.read("rate")

    def rows(key, scale):
        return [
            [named(row), *(digits(row[f"{key}{end}"] / scale) for end in ("", "_min", "_max"))]
            for row in rate.get("results", [])
            if key in row
        ]

    per_second = rows("per_second", 1e6)
    if not per_second:
        return NOT_MEASURED
    first = titled(rate, ":", ("million per second", "median", "min", "max"), per_second)
    return "\n".join([first, "", *table(("nanoseconds", "median", "min", "max"), rows("ns", 1))])


def load(folder):
    report = folder.read("load")
    columns = LATENCIES[1:5]
    rows = [
        [named(row), *latency_row(row, digits(row["achieved_per_second"] / 1e6), columns)]
        for row in report.get("results", [])
    ]
    return titled(
        report,
        "; microseconds from when a call was due until its reply:",
        ("", "million/s", *latency_heads(columns)),
        rows,
    )


def size(count):
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if count >= 1 << shift:
            return f"{count >> shift} {unit}"
    return f"{count} bytes"


def copies(folder):
    report = folder.read("copy")
    cells = {(row["name"], row["direction"], row["bytes"]): row for row in report.get("results", [])}
    sizes = sorted({key[2] for key in cells})
    shown = [way for way in names.COPIES if any(key[:2] == way[:2] for key in cells)]
    rows = [
        [
            size(count),
            *(digits(cells[(*way[:2], count)]["gb_per_s"]) if (*way[:2], count) in cells else "" for way in shown),
        ]
        for count in sizes
    ]
    return titled(report, "; GB/s:", ("", *(way[2] for way in shown)), rows)


def processes(folder):
    report = folder.read("ipc")
    rows = [latency_row(row, named_ipc(row)) for row in report.get("results", [])]
    return titled(report, f"; {report.get('clients')} clients; microseconds:", ("", *latency_heads()), rows)


def named_ipc(row):
    where = {"device": ", rings in GPU memory", "host": ", rings in host memory"}.get(row.get("rings"), "")
    plain = names.IPC.get(row["name"])
    return f"{plain}{where} (`{row['name']}`)" if plain else f"`{row['name']}`{where}"


def python(folder):
    report = folder.read("python")
    measured = report.get("python", {})
    rows = [[what, digits(float(measured[key]))] for key, what in names.PYTHON.items() if key in measured]
    if not rows:
        return NOT_MEASURED
    env = report["environment"]
    return titled(report, f"; Python {env['python']}, NumPy {env['numpy']}; nanoseconds:", ("", "median"), rows)


def idle(folder):
    report = folder.read("idle")
    rows = [
        [
            f"`{row['name']}`",
            *(us(row[key]["p50_ns"]) for key in ("busy", "woken", "warm")),
            digits(row["power_w"]) if row.get("power_w") else "",
        ]
        for row in report.get("results", [])
    ]
    without = report.get("power_without_kernel_w")
    heads = (
        "waiting policy",
        "calls in a row",
        "first call after sleeping",
        "first call after `warm()`",
        "GPU power, W",
    )
    tail = f" The GPU without a kernel takes {digits(without)} W." if without else ""
    return titled(report, f"; p50 in microseconds.{tail}", heads, rows)


def latency(folder):
    report = folder.read("latency")
    if not report:
        return NOT_MEASURED
    columns = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
    rows = [
        [SETTINGS[row["name"]], f"not measured: {row['why_not']}", "", "", ""]
        if "why_not" in row
        else latency_row(row, SETTINGS[row["name"]], columns)
        for row in report["results"]
    ]
    pause = digits(report["environment"]["pause_ms"])
    return titled(
        report, f"; calls of `carillon rtt`, a pause is {pause} ms; microseconds:", ("", *latency_heads(columns)), rows
    )


def peers(folder):
    report = folder.peers
    if not report:
        return NOT_MEASURED
    columns = ("p50_ns", "p99_ns", "p999_ns")

    def shown(rows):
        return [
            [
                f"{row['system']}: {row['what']}" if not row["what"].startswith(row["system"]) else row["what"],
                str(row.get("request_bytes", "")),
                *(us(row[key]) if key in row else "" for key in columns),
            ]
            for row in rows
        ]

    heads = ("", "bytes each way", "p50", "p99", "p99.9")
    env, other = report["environment"], report["uccl"]
    return "\n".join(
        [
            f"**{capital(env['measured'])}**: {machine(env)}; {env['method']}; {env['wrong_replies']} wrong "
            "replies; microseconds.",
            "",
            *table(heads, shown(report["results"])),
            "",
            f"**{capital(other['measured'])}**, another run: {other['device']}, driver "
            f"{other['kernel_driver']}; {other['why_no_date']}. {capital(other['method'])}.",
            "",
            *table(heads, shown(other["results"])),
        ]
    )


def files(folder):
    """All results files, by machine, with commit and date where they say so."""
    rows = []
    for path in sorted(folder.path.glob("*.json")):
        if path.name == "summary.json":
            continue
        content = folder.read(path.stem)
        env = content.get("environment", content)
        facts = [env.get(key) or content.get(key) for key in ("device", "date")]
        commit = targets.commit_of(content)
        rows.append(
            [
                f"`{path.name}`",
                str(facts[0] or "") or "not recorded",
                str(facts[1] or "")[:10] or "not recorded",
                commit[:10] if commit else "not recorded",
            ]
        )
    return "\n".join(table(("file", "device", "date", "commit"), rows))


def target_tables(folder):
    figures = folder.summary
    lines = [f"{machine(folder.read('rtt')['environment'])} unless another commit is named."]
    for title, group in targets.GROUPS.items():
        rows = []
        for target in group:
            if target.key not in figures:
                continue
            measured = figures[target.key]
            of_commit = figures.get(f"{target.key}.commit", "")[:10]
            rows.append(
                [
                    target.what,
                    f"`{target.key}`{' (' + of_commit + ')' if of_commit else ''}",
                    plain(measured),
                    f"{target.direction} {plain(target.limit)}",
                    "yes" if target.met(measured) else "**no**",
                ]
            )
        if rows:
            lines += ["", *table((title, "key", "measured", "target", "met"), rows)]
    return "\n".join(lines)


def missed(folder):
    """The reason for each target that is missed."""
    figures = folder.summary
    lines = []
    for target in (each for group in targets.GROUPS.values() for each in group):
        if target.key in figures and not target.met(figures[target.key]):
            lines.append(
                f"- `{target.key}`, {plain(figures[target.key])} ({target.direction} {plain(target.limit)}): "
                f"{filled(target.why, folder)}"
            )
    return "\n".join(lines) or "None is missed."


def filled(text, folder):
    """A text whose {KEY} are values; without them where one was not measured."""
    try:
        return re.sub(r"\{([^}]+)\}", lambda match: values.text_of(match[1], folder.path), text)
    except values.BadKey:
        return targets.NOT_EXPLAINED


def other_machines(folder):
    """The targets of round trips in each rtt file."""
    runs = sorted((path.stem for path in folder.path.glob("rtt*.json")), key=lambda name: (name != "rtt", name))
    rows = []
    for target in targets.ROUND_TRIPS + targets.USERS + targets.SPEED:
        cells = []
        for run in runs:
            try:
                measured = target.compute(targets.Results({"rtt": folder.read(run)}))
            except (KeyError, ZeroDivisionError):
                cells.append("")
                continue
            cells.append(
                plain(measured if measured < 1e6 else round(measured)) + ("" if target.met(measured) else " **no**")
            )
        if any(cells):
            rows.append([f"`{target.key}`", f"{target.direction} {plain(target.limit)}", *cells])
    heads = [
        f"{run}: {folder.read(run)['environment']['device'].removeprefix('NVIDIA ')}, "
        f"{targets.commit_of(folder.read(run))[:10]}"
        for run in runs
    ]
    return "\n".join(table(("", "target", *heads), rows))


def plain(value):
    if isinstance(value, int) and value < 1e6:
        return str(value)
    return f"{value / 1e6:.1f} M" if value >= 1e6 else digits(float(value)) if value % 1 else str(int(value))


def machines(folder):
    return "\n\n".join(
        litmus(json.loads(path.read_text()), path.name) for path in sorted(folder.path.glob("verify*.json"))
    )


def litmus(verify, file_name):
    """One machine's litmus tests: what was checked, and what its control showed."""
    env = verify["environment"]
    lines = [
        f"**{env['device']}**, {env['cpu']}, driver {env['kernel_driver']}, "
        f"{env['store_instruction']} stores, writes ordering {env['write_ordering']}, mapping "
        f"{verify['write_combining']['conclusion']}, {env['date'][:10]} ({file_name}):",
        "",
        "| test, and its control | checks | violations | seen besides |",
        "| --- | --- | --- | --- |",
    ]
    for test in verify["tests"]:
        first = f"| `{test['name']}`: {test['what']} | {test['checks']} | {test['violations']} "
        figures = [f"{test[key]} {text}" for key, text in FIGURES.items() if key in test]
        lines.append(f"{first}| {', '.join(figures)} |")
        for control in test["controls"]:
            lines.append(f"| without {control['what']} | {control['checks']} | {control['failures']} | |")
    lines += [
        "",
        "| publishing | p50 with its store fence | without | not there after 50 us |",
        "| --- | --- | --- | --- |",
    ]
    for form in verify["missing_store_fence"]:
        with_fence, without = form["with_fence"], form["without_fence"]
        lines.append(
            f"| `{form['form']}` | {with_fence['p50_ns']:.0f} ns | "
            f"{without['p50_ns']:.0f} ns | {without['late']} of {without['trials']} |"
        )
    return "\n".join(lines)


def wrapped(text):
    """The text with lines of 120 characters at most, tables apart."""
    return "\n".join(
        line
        if line.startswith("|")
        else textwrap.fill(
            line,
            118,
            subsequent_indent="  " if line.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


BLOCKS = {
    "headline": headline,
    "short": short,
    "round-trips": round_trips,
    "users": users,
    **{f"users-{which}": of_users(which) for which in ("payload", "threads", "capacity", "pause", "requests")},
    "rates": rates,
    "load": load,
    "copies": copies,
    "processes": processes,
    "python": python,
    "idle": idle,
    "latency": latency,
    "peers": peers,
    "files": files,
    "targets": target_tables,
    "missed": missed,
    "other-machines": other_machines,
    "machines": machines,
}


def filled_page(text, folder):
    """The page with its generated blocks made anew, and what can't be: line and text."""
    problems = []

    def made(match):
        if match[1] in OTHERS:
            return match[0]
        if match[1] not in BLOCKS:
            problems.append(
                (
                    markdown.line_of(text, match.start()),
                    f"no block is named {match[1]}; there are {', '.join(sorted(BLOCKS))}",
                )
            )
            return match[0]
        return f"<!-- {match[1]}: begin -->\n{wrapped(BLOCKS[match[1]](folder))}\n<!-- {match[1]}: end -->"

    return markdown.BLOCK.sub(made, text), problems
