#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the bench: every case beside its floor and its peer, round after round.

A round runs each case once, its floor right before it, on the same two CPUs, so that what disturbs
the machine disturbs both. A figure is the best of the rounds' medians: other load only ever makes
it worse. The table also shows the median of the rounds.
"""
import argparse
import datetime
import fnmatch
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PORTS = ('ring', 'memif', 'af_packet', 'af_xdp')
NEED_ROOT = ('af_packet', 'af_xdp', 'tcp')
STARVED, SKIPPED = 75, 77
RUN_TIMEOUT = 120
ROUNDS, TOTAL_SECONDS = 4, 330  # unless --rounds says how many: as many of these as fit that time


def lower_is_better(unit):
    return unit == 'us'


def best(values, unit):
    return min(values) if lower_is_better(unit) else max(values)


def floor_of(name, port):
    """What a case is held against."""
    if name.endswith('_lat'):
        return 'port_64B_lat'
    bandwidth = re.fullmatch(r'\w+_1MiB_bw_(mtu\d+)', name)
    if not bandwidth:
        return 'port_64B_rate'
    return ('skeleton_' if port == 'ring' else 'port_bw_') + bandwidth[1]


def peer_of(name):
    """The case of the kernel's TCP that does the same."""
    if name.endswith('_lat'):
        return 'tcp_8B_lat'
    return 'tcp_1MiB_bw' if '_1MiB_bw_' in name else 'tcp_8B_rate'


class Bench:
    """The program, and what its runs have given: (case, port) to a list of results, one a round."""

    def __init__(self, options):
        self.program = options.program
        self.arguments = ['--json', '--seconds', str(options.seconds), '--cpus', options.cpus]
        if options.realtime:
            self.arguments.append('--realtime')
        self.results = {}
        self.skipped = {}  # (case, port) or port: why
        self.failures = []
        self.starved = 0

    def cases(self):
        """(name, unit, ports) of all cases."""
        out = subprocess.run([self.program, '--list'], check=True, capture_output=True, text=True)
        for line in out.stdout.splitlines():
            name, unit, ports = line.split()
            yield name, unit, ports.split(',')

    def skip(self, what, why):
        if what not in self.skipped:
            self.skipped[what] = why
            print(f'skipped: {what if isinstance(what, str) else " ".join(what)}: {why}')

    def run(self, name, port):
        """One more run; its result, or None."""
        if port in self.skipped:
            return None
        command = [self.program, '--case', name, '--port', port] + self.arguments
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.fail(name, port, f'not over after {RUN_TIMEOUT} s')
            return None
        words = [line for line in run.stderr.splitlines() if line.startswith('bench: ')]
        why = words[0].removeprefix('bench: ') if words else f'exit status {run.returncode}'
        if run.returncode == 0:
            result = json.loads(run.stdout.splitlines()[-1])
            self.results.setdefault((name, port), []).append(result)
            return result
        if run.returncode == SKIPPED:
            self.skip(port, why)
        elif run.returncode == STARVED:
            self.starved += 1
        else:
            self.fail(name, port, why)
        return None

    def fail(self, name, port, why):
        self.failures.append(f'{name} {port}: {why}')
        print(f'FAILED {self.failures[-1]}', flush=True)

    def values(self, name, port):
        return [result['value'] for result in self.results.get((name, port), [])]


def matches(text, words):
    """Whether one of the words, with wildcards, is the text; no words match everything."""
    return not words or any(fnmatch.fnmatchcase(text, word) for word in words)


def select(cases, words):
    """What is asked for, by names of cases and of ports: (name, unit, port) of what can be run, and
    (name, port) of what a port does not carry."""
    by_port = [word for word in words if any(fnmatch.fnmatchcase(port, word) for port in PORTS)]
    by_name = [word for word in words if word not in by_port]
    rows, absent = [], []
    for port in [port for port in PORTS if matches(port, by_port)]:
        for name, unit, ports in cases:
            if re.match('port_|skeleton_|tcp_', name) or not matches(name, by_name):
                continue
            if port in ports:
                rows.append((name, unit, port))
            else:
                absent.append((name, port))
    return rows, absent


def note_absent(bench, absent):
    """Says what is asked for and cannot run here."""
    if os.geteuid() != 0:
        for port in NEED_ROOT:
            bench.skip(port, 'a network namespace of its own needs root')
    if not shutil.which('iperf3'):
        bench.skip(('tcp_1MiB_bw', 'tcp'), 'there is no iperf3')
    for name, port in absent:  # of MTU 4096 on AF_XDP, all of them
        if port not in bench.skipped:
            bench.skip((name, port), 'a frame and what is around it must fit a page')


def warn_if_busy(options):
    """The two sides want a CPU each."""
    load = os.getloadavg()[0]
    if load > 1 and not options.realtime:
        print(f'The machine is busy (load {load:.1f}): what follows is too low. --realtime (as root) '
              'keeps other work off the two CPUs.')


def run_round(bench, rows, number, rounds):
    """Each row once; what several rows stand beside runs before the first of them."""
    done = {}

    def once(name, port):
        if (name, port) not in done and (name, port) not in bench.skipped:
            done[name, port] = bench.run(name, port)
        return done.get((name, port))

    print(f'round {number} of {rounds}, load {os.getloadavg()[0]:.1f}', flush=True)
    for name, _, port in rows:
        once(peer_of(name), 'tcp')
        floor = once(floor_of(name, port), port)
        own = bench.run(name, port)
        if own and floor:
            own['floor'] = floor['value']


def run_rounds(bench, rows, wanted):
    """Returns how many it were."""
    start = time.monotonic()
    for number in range(1, (wanted or ROUNDS) + 1):
        run_round(bench, rows, number, wanted or ROUNDS)
        elapsed = time.monotonic() - start
        if not wanted and elapsed + elapsed / number > TOTAL_SECONDS:
            break
    return number


def describe(bench, name, unit, port):
    """A row of the JSON, or None if it never ran."""
    own = bench.results.get((name, port))
    if not own:
        return None
    floor_name = floor_of(name, port)
    floors = bench.values(floor_name, port)
    values = bench.values(name, port)
    value = best(values, unit)
    chosen = own[values.index(value)]
    ratios = [result['value'] / result['floor'] for result in own if 'floor' in result]
    peer = bench.values(peer_of(name), 'tcp')
    row = {'name': name, 'port': port, 'value': value, 'unit': unit,
           'floor': best(floors, unit) if floors else None,
           'ratio': round(value / best(floors, unit), 4) if floors else None}
    for key in ('mode', 'window', 'batch', 'signal_every', 'retransmitted'):
        row[key] = chosen[key]
    row.update({'peers': {'tcp': best(peer, unit)} if peer else {},
                'floor_name': floor_name, 'rounds': len(values),
                'median': statistics.median(values),
                'floor_median': statistics.median(floors) if floors else None,
                'ratio_median': round(statistics.median(ratios), 4) if ratios else None})
    return row


def show(rows):
    def number(value, digits):
        return '-' if value is None else f'{value:.{digits}f}'

    print()
    print(f'{"name":22} {"port":9} {"best":>9} {"median":>9} {"unit":7} {"floor":>9} {"ratio":>6} '
          f'{"TCP":>8}  {"again":>6}')
    for row in rows:
        print(f'{row["name"]:22} {row["port"]:9} {row["value"]:9.3f} {row["median"]:9.3f} '
              f'{row["unit"]:7} {number(row["floor"], 3):>9} {number(row["ratio"], 2):>6} '
              f'{number(row["peers"].get("tcp"), 3):>8}  {row["retransmitted"]:6}')
    print('\nbest, floor, TCP: the best round. ratio: best over floor. again: packets that were '
          'sent again.\nInline mode, ICRC on. docs/performance.md says how to read this.')


def first_line(command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        return out.stdout.strip().split('\n')[0]
    except (OSError, subprocess.CalledProcessError):
        return None


def machine(options):
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
        model = re.search(r'model name\s*:\s*(.*)', file.read())
    return {'cpu': model[1] if model else platform.machine(), 'cpus_used': options.cpus,
            'cpus': os.cpu_count(), 'kernel': platform.release(),
            'dpdk': first_line(['pkg-config', '--modversion', 'libdpdk']),
            'compiler': first_line(['cc', '--version']),
            'commit': first_line(['git', 'describe', '--always', '--dirty']),
            'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'load_before': round(os.getloadavg()[0], 2),
            'seconds': options.seconds, 'realtime': options.realtime}


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog='./dev bench', description='Measures uroce beside its floors and the kernel\'s TCP.',
        epilog='CASE: a case (write_8B_rate), a port (ring, memif, af_packet, af_xdp), or both; '
               'wildcards as in a shell. Without any: all.')
    parser.add_argument('--json', metavar='FILE', help='write the results there, too')
    parser.add_argument('--rounds', type=int, metavar='N',
                        help=f'rounds ({ROUNDS}, fewer if they would take over 6 minutes)')
    parser.add_argument('--seconds', type=float, metavar='S', help='seconds a measurement (0.4)')
    parser.add_argument('--quick', action='store_true', help='one round, shorter measurements')
    parser.add_argument('--cpus', default='0,1', metavar='A,B', help='the two CPUs (0,1)')
    parser.add_argument('--realtime', action='store_true',
                        help='keep other work off the two CPUs while something is measured: for a '
                             'busy machine, as root')
    parser.add_argument('--program', default=os.path.join(ROOT, 'build-bench/tests/perf/bench'),
                        help='the bench program (build-bench/tests/perf/bench)')
    parser.add_argument('cases', nargs='*', metavar='CASE')
    options = parser.parse_args()
    if options.quick and not options.rounds:
        options.rounds = 1
    options.seconds = options.seconds or (0.25 if options.quick else 0.4)
    return options


def main():
    options = parse_arguments()
    bench = Bench(options)
    cases = list(bench.cases())
    rows, absent = select(cases, options.cases)
    if not rows:
        sys.exit(f'bench: no case is called {" ".join(options.cases)}; {options.program} --help '
                 'lists them')
    record = machine(options)
    note_absent(bench, absent)
    warn_if_busy(options)
    record['rounds'] = run_rounds(bench, rows, options.rounds)
    record['load_after'] = round(os.getloadavg()[0], 2)
    record['starved_runs'] = bench.starved
    results = [describe(bench, *row) for row in rows]
    for row, result in zip(rows, results):
        if result is None and row[2] not in bench.skipped and bench.starved:
            bench.fail(row[0], row[2], 'never measured: other load took the CPUs')
    results = [result for result in results if result]
    show(results)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump({'results': results, 'machine': record, 'failures': bench.failures}, file,
                      indent=1)
            file.write('\n')
    for failure in bench.failures:
        print(f'FAILED {failure}')
    return 1 if bench.failures or not results else 0


if __name__ == '__main__':
    sys.exit(main())
