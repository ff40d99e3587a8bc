#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that watch kernels which are served, as their users run them: in a terminal and
without one.
Usage: watch_test.py PATH_OF_THE_COMMAND LIBRARY_WHOSE_DRAIN_HAS_NO_END
           LIBRARY_THAT_IS_LOADED_FOR_EVER LIBRARY_THAT_RESOLVES_NO_NAME"""
import fcntl
import http.client
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.error
import urllib.request

CARILLON = sys.argv.pop(1)
ENDLESS = sys.argv.pop(1)
LOADS, RESOLVES = sys.argv.pop(1), sys.argv.pop(1)
PATIENCE = 60
OTHER_SCREEN, FIRST_SCREEN = b"\x1b[?1049h", b"\x1b[?25h\x1b[?1049l"


def run(*arguments, **options):
    return subprocess.run([CARILLON, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, **options)


def has_ipv6():
    """Whether something can listen at this machine's own address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
            return True
    except OSError:
        return False


def await_true(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)


def started_without_reader(*arguments):
    """The command, whose standard output nobody reads from the start."""
    near, far = os.pipe()
    os.close(near)
    try:
        return subprocess.Popen([CARILLON, *arguments], stdout=far, stderr=subprocess.PIPE,
                                text=True)
    finally:
        os.close(far)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def can_connect(port):
    try:
        with socket.create_connection(("127.0.0.1", port), PATIENCE):
            return True
    except ConnectionError:
        return False


class SilentOwner:
    """Who listens at a path and takes up nobody's words; `came` is set once somebody has come."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(8)
        self.listener.settimeout(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def await_visit(self):
        return self.listener.accept()[0]


def ignoring(numbers):
    """What makes a child ignore these signals, as `nohup` and a shell's `&` do."""
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


class Terminal:
    """The command in a terminal of so many columns."""

    def __init__(self, *arguments, columns=200, environment=None):
        self.near, self.far = pty.openpty()
        fcntl.ioctl(self.far, termios.TIOCSWINSZ, struct.pack("HHHH", 10, columns, 0, 0))
        self.before = termios.tcgetattr(self.far)
        self.seen = b""
        self.process = subprocess.Popen([CARILLON, *arguments], stdin=self.far, stdout=self.far,
                                        stderr=subprocess.PIPE, start_new_session=True,
                                        env={"TERM": "xterm", **os.environ, **(environment or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self.near)
        os.close(self.far)

    def read_until(self, *all_of):
        """What it has shown since the last time, once all of that is in it."""
        end = time.monotonic() + PATIENCE
        while not all(each in self.seen for each in all_of) and time.monotonic() < end:
            if select.select([self.near], [], [], 0.1)[0]:
                self.seen += os.read(self.near, 65536)
        shown, self.seen = self.seen, b""
        return shown

    def type(self, keys):
        os.write(self.near, keys)

    def end(self):
        """Its exit status, and the last that it has shown."""
        self.process.wait(PATIENCE)
        return self.process.returncode, self.read_until(FIRST_SCREEN)


class Served:
    """An emulated kernel that the command serves at a path, started with `ignored` signals."""

    def __init__(self, path, *arguments, ignored=()):
        self.process = subprocess.Popen([CARILLON, "serve", path, "--device", "emulated", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=ignoring(ignored))
        self.said = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number):
        """Its exit status, and what it has said since it served."""
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out + error


class SocketTest(unittest.TestCase):
    name = "kernel.sock"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, self.name)

    def tearDown(self):
        self.folder.cleanup()


class ServeTest(SocketTest):
    def test_signals_end_it_in_order(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Served(self.path, "--kernel", "count", "--name", "counter") as served:
                self.assertIn(f"serving count as counter at {self.path}: 1 block on ", served.said)
                self.assertIn("EMULATED", served.said)
                listed = run("ls", self.path)
                self.assertIn("EMULATED", listed.stdout)
                self.assertEqual(served.end(number),
                                 (0, "ended: every accepted request was answered\n"))
                self.assertFalse(os.path.exists(self.path))

    def test_a_signal_that_was_ignored_at_the_start_stays_ignored(self):
        for number in (signal.SIGHUP, signal.SIGINT):
            with Served(self.path, ignored=[number]) as served:
                served.process.send_signal(number)
                self.assertEqual(run("ls", self.path).returncode, 0)
                with open(f"/proc/{served.process.pid}/status", encoding="ascii") as status:
                    masks = dict(line.split(":", 1) for line in status)
                for mask, is_in in (("SigIgn", 1), ("SigBlk", 0), ("SigPnd", 0), ("ShdPnd", 0)):
                    self.assertEqual(int(masks[mask], 16) >> (number - 1) & 1, is_in, mask)
                self.assertEqual(served.end(signal.SIGTERM)[0], 0)

    # Catches one that hears no signal while it drains.
    def test_a_second_signal_ends_its_drain(self):
        with Served(self.path, "--library", ENDLESS) as served:
            self.assertIn("serving endless as ", served.said)
            served.process.send_signal(signal.SIGTERM)
            self.assertEqual(served.process.stdout.readline(), "drains\n")
            # Signals that come at once count as the first.
            end = time.monotonic() + PATIENCE
            while served.process.poll() is None and time.monotonic() < end:
                served.process.send_signal(signal.SIGTERM)
                time.sleep(0.05)
            self.assertEqual(served.process.wait(PATIENCE), 1)
            self.assertIn("a second signal ended the drain", served.process.stderr.read())

    # Catches one that looks for signals when it serves.
    def test_signals_end_it_while_its_library_loads(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Served(self.path, "--library", LOADS) as served:
                self.assertEqual(served.said, "loads\n")
                self.assertEqual(served.end(number),
                                 (0, "carillon: serve: ended by a signal before it served\n"))
                self.assertFalse(os.path.exists(self.path))

    def test_drains_without_time_where_nothing_is_to_be_answered(self):
        for idle in ("spin", "park"):
            with Served(self.path, "--drain", "0", "--idle", idle) as served:
                self.assertEqual(served.end(signal.SIGTERM),
                                 (0, "ended: every accepted request was answered\n"))

    # `timeout`, a closed terminal and a service manager send signals so.
    def test_an_end_that_arrives_as_several_signals_is_one(self):
        with Served(self.path) as served:
            served.process.send_signal(signal.SIGSTOP)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                served.process.send_signal(number)
            self.assertEqual(served.end(signal.SIGCONT),
                             (0, "ended: every accepted request was answered\n"))

    def test_serves_on_where_the_reader_of_its_first_line_has_gone(self):
        with started_without_reader("serve", self.path, "--device", "emulated") as process:
            await_true(lambda: run("ls", self.path).returncode == 0)
            self.assertEqual(run("ls", self.path).returncode, 0)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(process.stderr.read(), "")
            self.assertFalse(os.path.exists(self.path))

    def test_an_owner_that_was_slow_says_nothing_of_those_who_have_gone(self):
        with Served(self.path) as served:
            served.process.send_signal(signal.SIGSTOP)
            for _ in range(3):
                self.assertEqual(run("ls", "--timeout", "50ms", self.path).returncode, 1)
            served.process.send_signal(signal.SIGCONT)
            self.assertEqual(run("ls", self.path).returncode, 0)
            self.assertEqual(served.end(signal.SIGTERM),
                             (0, "ended: every accepted request was answered\n"))

    def test_a_path_has_one_owner(self):
        with Served(self.path):
            second = run("serve", self.path, "--device", "emulated")
            self.assertEqual(second.returncode, 2)
            self.assertIn(self.path, second.stderr)
            self.assertEqual(run("ls", self.path).returncode, 0)

    def test_one_that_is_killed_is_followed_by_another(self):
        with Served(self.path) as first:
            self.assertEqual(first.end(signal.SIGKILL)[0], -signal.SIGKILL)
        self.assertIn("carillon_up", run("metrics", self.path).stdout)
        self.assertEqual(set(samples(run("metrics", self.path).stdout).values()), {0})
        with Served(self.path, "--blocks", "2") as second:
            self.assertIn("2 blocks", second.said)
            self.assertEqual(run("ls", self.path).returncode, 0)

    def test_pool_has_more_clients_than_blocks(self):
        with Served(self.path, "--clients", "3") as served:
            self.assertIn("1 block for 3 clients on ", served.said)
            self.assertEqual(served.end(signal.SIGINT)[0], 0)

    def test_wrong_library_is_one_line(self):
        result = run("serve", self.path, "--library", __file__)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith(f"carillon: serve --library: {__file__}: "))
        self.assertEqual(result.stdout, "")

    def test_bad_usage_exits_2(self):
        for arguments in (["--mode", "8"], ["--mode", ""], ["--mode", "1777"], ["--blocks", "0"],
                          ["--clients", "0"], ["--clients", "65"], ["--kernel", "none"],
                          ["--kernel", "echo", "--library", "x.so"],
                          ["--user", "nobody-is-so-called"], ["--idle", "never"],
                          ["--user", "4294967295"], ["--group", "4294967295"],
                          ["--capacity", "7"], ["--name", ""]):
            with self.subTest(arguments):
                result = run("serve", self.path, "--device", "emulated", *arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertEqual(run("serve").returncode, 2)


class TopTest(SocketTest):
    def assert_leaves_as_it_was(self, terminal):
        status, shown = terminal.end()
        self.assertEqual(status, 0)
        self.assertTrue(shown.endswith(FIRST_SCREEN), shown)
        self.assertEqual(termios.tcgetattr(terminal.far), terminal.before)

    def test_keys_and_signals_leave_the_terminal_as_it_was(self):
        for leave in (lambda top: top.type(b"q"), lambda top: top.type(b"\x03"),
                      lambda top: top.process.send_signal(signal.SIGINT),
                      lambda top: top.process.send_signal(signal.SIGTERM)):
            with Terminal("top", self.path, "--interval", "3600") as top:
                shown = top.read_until(b"No such file", b"\x1b[J")
                self.assertTrue(shown.startswith(OTHER_SCREEN), shown)
                self.assertEqual(termios.tcgetattr(top.far)[3] & (termios.ECHO | termios.ICANON), 0)
                top.type(b"x")
                leave(top)
                self.assert_leaves_as_it_was(top)

    # Catches one that hears no signal while an owner does not answer.
    def test_signals_and_keys_end_it_while_an_owner_does_not_answer(self):
        with SilentOwner(self.path) as owner:
            for leave in (lambda top: top.type(b"q"),
                          lambda top: top.process.send_signal(signal.SIGTERM)):
                with Terminal("top", self.path, "--timeout", "60s") as top, \
                        owner.await_visit():
                    leave(top)
                    self.assert_leaves_as_it_was(top)

    def test_blocks_of_a_kernel_are_shown_until_its_owner_ends(self):
        with Served(self.path, "--name", "desk", "--blocks", "2") as served, \
                Terminal("top", self.path, "--interval", "0.05") as top:
            shown = top.read_until(b"EMULATED", b"  desk          1  idle ")
            self.assertIn(b"beats/s", shown)
            served.end(signal.SIGTERM)
            top.read_until(b"No such file")
            with Served(self.path, "--name", "next"):
                top.read_until(b"  next          0  idle ")
                top.type(b"q")
                self.assert_leaves_as_it_was(top)

    def test_json_has_rates_of_each_block(self):
        with Served(self.path):
            looks = [json.loads(line) for line in
                     run("top", self.path, "--json", "--count", "3", "--interval", "0.3")
                     .stdout.splitlines()]
        self.assertEqual(len(looks), 3)
        for look in looks:
            block = look["owners"][0]["blocks"][0]
            self.assertTrue(block["emulated"])
            self.assertEqual(block["counters"]["submitted"], 0)
            self.assertEqual(block["per_second"]["submitted"], 0)
        self.assertGreaterEqual(looks[2]["owners"][0]["blocks"][0]["beats"],
                                looks[0]["owners"][0]["blocks"][0]["beats"])

    def test_lines_are_cut_at_the_edge(self):
        with Terminal("top", self.path, "--interval", "0.05", "--count", "2", columns=20) as top:
            shown = top.read_until(FIRST_SCREEN)
            self.assertEqual(top.process.wait(PATIENCE), 1)
        lines = shown.split(b"\x1b[H")[-1].replace(b"\x1b[K", b"").split(b"\x1b[J")[0].split(b"\r\n")
        self.assertEqual([line for line in lines if len(line) > 20], [])
        self.assertEqual(lines[0], b"carillon top: every ")

    def test_without_a_terminal_it_prints(self):
        result = run("top", self.path, "--interval", "50ms", "--count", "2")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "carillon: top: 1 of 1 owners did not answer\n"))
        self.assertEqual(result.stdout.count("No such file"), 2)
        self.assertNotIn("\x1b", result.stdout)
        result = run("top", self.path, "--once", "--json")
        self.assertEqual([owner["path"] for owner in json.loads(result.stdout)["owners"]],
                         [self.path])
        self.assertIn("No such file", result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_columns_are_left_out_where_the_terminal_is_narrow(self):
        titles = {60: "object block state depth sent/s answered/s",
                  80: "object block state client depth sent/s answered/s dropped",
                  200: "object block state client process depth sent/s answered/s sent stalls/s "
                       "dropped beats/s"}
        with Served(self.path, "--blocks", "2"):
            for columns, title in titles.items():
                with self.subTest(columns), \
                        Terminal("top", self.path, "--interval", "50ms", "--count", "2",
                                 columns=columns) as top:
                    shown = top.read_until(FIRST_SCREEN)
                    self.assertEqual(top.process.wait(PATIENCE), 0)
                    frame = shown.split(b"\x1b[H")[-1].split(b"\x1b[J")[0]
                    lines = frame.replace(b"\x1b[K", b"").split(b"\r\n")
                    self.assertEqual(lines[3].decode().split(), title.split())
                    self.assertLessEqual(max(len(line) for line in lines[3:7]), columns)
                    self.assertTrue(lines[6].startswith(b"  total "), lines)

    def test_the_width_of_a_file_is_that_of_the_environment(self):
        with Served(self.path):
            narrow = run("top", "--once", self.path, env={**os.environ, "COLUMNS": "60"}).stdout
            wide = run("top", "--once", self.path).stdout
        self.assertNotIn("beats/s", narrow)
        self.assertIn("beats/s", wide)

    def test_a_terminal_of_unknown_width_has_80_columns(self):
        with Served(self.path):
            with Terminal("top", self.path, "--interval", "50ms", "--count", "2",
                          columns=0) as top:
                frame = top.read_until(FIRST_SCREEN).split(b"\x1b[H")[-1]
            # Standard output is a file of documents, standard error the terminal.
            near, far = pty.openpty()
            documents = subprocess.run([CARILLON, "top", "--once", "--json", self.path],
                                       stdout=subprocess.PIPE, stderr=far, check=True,
                                       timeout=PATIENCE).stdout
            os.write(far, b"end")
            text = b""
            while b"end" not in text:
                text += os.read(near, 4096)
            os.close(near)
            os.close(far)
        self.assertIn("owners", json.loads(documents))
        for shown in (frame, text):
            self.assertIn(b"sent/s", shown)
            self.assertNotIn(b"beats/s", shown)

    def test_no_text_has_colors(self):
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
            with self.subTest(environment), \
                    Terminal("top", self.path, "--interval", "50ms", "--count", "2",
                             environment=environment) as top:
                top.process.wait(PATIENCE)
                shown = top.read_until(b"No such file")
                self.assertIsNone(re.search(rb"\x1b\[[0-9;]*m", shown), shown)
                self.assertEqual(b"\x1b" in shown, environment != {"TERM": "dumb"}, shown)

    def test_bad_usage_exits_2(self):
        for arguments in ([], ["--interval", "0"], ["--once", "--count", "2"], ["--count", "-1"],
                          ["--interval", "nan"], ["--owner-user", ""]):
            with self.subTest(arguments):
                paths = [self.path] if arguments else []
                self.assertEqual(run("top", *paths, *arguments).returncode, 2)


def samples(text):
    """{(name, labels): value} of what is in the text exposition format, version 0.0.4; each line
    is looked at, as a scraper does that refuses all for one."""
    name, value = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf|NaN)"
    label = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
    found, types = {}, {}
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    for line in text.split("\n")[:-1]:
        if match := re.fullmatch(rf"# TYPE ({name}) (counter|gauge)", line):
            if match[1] in types:
                raise ValueError(f"a second type: {line}")
            types[match[1]] = match[2]
        elif match := re.fullmatch(rf"({name}){{({label}(?:,{label})*)}} ({value})", line):
            labels = re.findall(label, match[2])
            key = match[1], frozenset(labels)
            if match[1] not in types or key in found or len(dict(labels)) != len(labels):
                raise ValueError(f"no type before it, or given twice: {line}")
            if (types[match[1]] == "counter") != match[1].endswith("_total"):
                raise ValueError(f"a name that is not its type's: {line}")
            found[key] = float(match[match.lastindex])
        elif not re.fullmatch(rf"# HELP {name} [^\n]+", line):
            raise ValueError(line)
    return found


class MetricsTest(SocketTest):
    name = 'a "b" \\.sock'

    def assert_down(self, text):
        path = self.path.replace("\\", r"\\").replace('"', r'\"')
        self.assertEqual(samples(text), {("carillon_up", frozenset({("path", path)})): 0})

    def test_owner_that_is_not_there_is_down_and_no_failure(self):
        result = run("metrics", self.path, self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_down(result.stdout)

    def test_an_owner_that_has_gone_leaves_the_others(self):
        there = os.path.join(self.folder.name, "there.sock")
        with Served(there, "--name", "desk"):
            found = samples(run("metrics", self.path, there).stdout)
        up = {dict(labels)["path"]: value for (name, labels), value in found.items()
              if name == "carillon_up"}
        self.assertEqual(sorted(up.values()), [0, 1])
        self.assertEqual(up[there], 1)
        counted = {name: dict(labels) for name, labels in found if name.endswith("_total")}
        self.assertEqual(counted["carillon_requests_submitted_total"],
                         {"path": there, "object": "desk", "block": "0"})

    def test_metrics_are_served_by_http(self):
        with subprocess.Popen([CARILLON, "metrics", self.path, "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            url = process.stdout.readline().split()[-1]
            for _ in range(2):
                with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                    self.assertEqual(answer.headers["Content-Type"],
                                     "text/plain; version=0.0.4; charset=utf-8")
                    self.assert_down(answer.read().decode())
            with self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(url + "/else", timeout=PATIENCE)
            self.assertEqual(raised.exception.code, 404)
            raised.exception.close()
            # A target in its absolute form, as a proxy sends it.
            for target, status in (("http://else/metrics", 200), ("HTTP://else:80/metrics?x", 200),
                                   ("http://else", 404), ("http://metrics", 404),
                                   ("http://else/metrics/", 404), ("else/metrics", 404)):
                with self.subTest(target):
                    connection = http.client.HTTPConnection(url.split("/")[2], timeout=PATIENCE)
                    connection.request("GET", target)
                    self.assertEqual(connection.getresponse().status, status)
                    connection.close()
            # HEAD's answer has GET's length or none.
            for path, status in (("/metrics", 200), ("/else", 404)):
                with self.subTest(path):
                    connection = http.client.HTTPConnection(url.split("/")[2], timeout=PATIENCE)
                    connection.request("HEAD", path)
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, answer.getheader("Content-Length")),
                                     (status, None))
                    self.assertEqual(answer.read(), b"")
                    connection.close()
            # The port is this process's alone.
            second = run("metrics", self.path, "--listen", url.split("/")[2])
            self.assertEqual(second.returncode, 1)
            self.assertIn("listen at 127.0.0.1:", second.stderr)
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(process.stderr.read(), "")

    # Catches one that looks for signals when it has an address.
    def test_signals_end_it_while_a_name_is_resolved(self):
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        environment = {**os.environ, "LD_PRELOAD": RESOLVES, "ASAN_OPTIONS": sanitizer}
        with subprocess.Popen([CARILLON, "metrics", self.path, "--listen", "some.where:0"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment) as process:
            try:
                self.assertEqual(process.stdout.readline(), "resolves\n")
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(PATIENCE), 0)
            finally:
                process.kill()

    def test_endpoint_answers_where_the_reader_of_its_first_line_has_gone(self):
        port = free_port()
        with started_without_reader("metrics", self.path, "--listen",
                                    f"127.0.0.1:{port}") as process:
            await_true(lambda: can_connect(port))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                        timeout=PATIENCE) as answer:
                self.assert_down(answer.read().decode())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE), 0)
            self.assertEqual(process.stderr.read(), "")

    # Catches an endpoint that waits for bytes that a connection has not sent yet.
    def test_silent_and_slow_connections_delay_neither_a_scrape_nor_the_end(self):
        with subprocess.Popen([CARILLON, "metrics", self.path, "--listen", ":0"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            url = process.stdout.readline().split()[-1]
            port = int(url.rsplit(":", 1)[1].split("/")[0])
            others = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(100)]
            for other in others[-40:]:
                other.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            # At every address, be it of IPv4 or of IPv6.
            for host in ["127.0.0.1"] + (["[::1]"] if has_ipv6() else []):
                with urllib.request.urlopen(f"http://{host}:{port}/metrics",
                                            timeout=PATIENCE) as answer:
                    self.assert_down(answer.read().decode())
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            self.assertEqual(process.returncode, 0)
            for other in others:
                other.close()

    # Catches one that hears no signal, and lets no other in, while an owner does not answer.
    def test_owner_that_does_not_answer_delays_neither_other_visits_nor_the_end(self):
        with SilentOwner(self.path) as owner, \
                subprocess.Popen([CARILLON, "metrics", self.path, "--listen", "127.0.0.1:0",
                                  "--timeout", "60s"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) as process:
            try:
                url = process.stdout.readline().split()[-1]
                host, port = url.split("/")[2].split(":")
                with socket.create_connection((host, int(port)), PATIENCE) as scraper:
                    scraper.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                    with owner.await_visit():
                        with self.assertRaises(urllib.error.HTTPError) as raised:
                            urllib.request.urlopen(url + "/else", timeout=PATIENCE)
                        self.assertEqual(raised.exception.code, 404)
                        raised.exception.close()
                        process.send_signal(signal.SIGTERM)
                        process.wait(PATIENCE)
                        self.assertEqual(process.returncode, 0)
            finally:
                process.kill()

    def test_bad_usage_exits_2(self):
        for where in ("", "9100", "127.0.0.1:", "[]:9100", "127.0.0.1:99999", "::1:9100", "a:b"):
            with self.subTest(where):
                result = run("metrics", self.path, "--listen", where)
                self.assertEqual(result.returncode, 2)
                self.assertIn("is not HOST:PORT", result.stderr)


if __name__ == "__main__":
    unittest.main()
