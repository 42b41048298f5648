#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace points: trace_test.py SIGHT LIBRARY

LIBRARY is liburoce-engine, whose notes are read by readelf and objdump; SIGHT is made of sight.c, and
gdb stops at its points while it works.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from namespace import Cases, run, skip

SIGHT, LIBRARY = sys.argv[1:3]
# Every point of lib/base/trace.h, and how many arguments it has.
POINTS = {'qp_create': 2, 'qp_destroy': 2, 'qp_state': 4, 'gate_open': 4, 'send_failed': 2,
          'go_back': 4, 'nak_sent': 3, 'nak_received': 3, 'drop': 3, 'drop_frame': 3, 'command': 3}
# Whose last argument is a text.
TEXTS = ('qp_state', 'go_back', 'drop', 'drop_frame')
NOP = '90'
RESET, INIT, RTR, RTS, ERR = 0, 1, 2, 3, 6  # enum ibv_qp_state
MODIFY, PACKET = 0, 1                       # enum uroce_hold_cause
REM_ACCESS_ERR = 10                         # enum ibv_wc_status
RNR_NAK, ACCESS_NAK = 0x20 + 12, 0x62       # syndromes; 12 is sight.c's RNR timer
CREATE_QP = 20                              # enum uroce_abi_op


def notes():
    """(name, address, number of arguments, semaphore) of each place of a point."""
    text = run('readelf', '-nW', LIBRARY)
    found = re.findall(r'Provider: uroce\s+Name: (\w+)\s+Location: (0x[0-9a-f]+), Base: \S+, '
                       r'Semaphore: (\S+)\s+Arguments: (.*)', text)
    return [(name, int(at, 16), len(re.findall(r'-?\d@', arguments)), int(semaphore, 16))
            for name, at, semaphore, arguments in found]


def all_there(problems):
    """Every point is in the library, with its arguments wherever it stands."""
    places = {(name, count) for name, _, count, _ in notes()}
    for point in sorted(set(POINTS.items()) ^ places):
        problems.append(f'{point}: {"not there" if point in POINTS.items() else "unknown"}')


def nops(problems):
    """A point that nobody watches is one nop, and nobody asks whether it is watched."""
    for name, at, _, semaphore in notes():
        line = run('objdump', '-d', f'--start-address={at:#x}', f'--stop-address={at + 1:#x}',
                   LIBRARY).splitlines()[-1]
        if line.split('\t')[1].strip() != NOP or semaphore:
            problems.append(f'{name} at {at:#x}: {line}, semaphore {semaphore}')


def script(orders):
    """For gdb: at each point a line with its arguments, and on."""
    lines = ['set breakpoint pending on', 'set confirm off', 'set pagination off']
    for point, count in POINTS.items():
        text = point in TEXTS
        formats = ['%u'] * (count - text) + ['%s'] * text
        values = [f'(unsigned)$_probe_arg{i}' for i in range(count - text)]
        values += [f'(char *)$_probe_arg{count - 1}'] * text
        lines += [f'break -probe-stap uroce:{point}', 'commands', 'silent',
                  f'printf "STOP {point} {" ".join(formats)}\\n", {", ".join(values)}',
                  'continue', 'end']
    return '\n'.join(lines + [f'run --no-telemetry < {orders}', ''])


def watch(*orders):
    """What gdb sees while the orders are obeyed: {point: [arguments, ...]}, in order."""
    with tempfile.TemporaryDirectory() as folder:
        order_file, script_file = (os.path.join(folder, name) for name in ('orders', 'script'))
        with open(order_file, 'w', encoding='utf-8') as file:
            file.write('\n'.join(orders + ('quit', '')))
        with open(script_file, 'w', encoding='utf-8') as file:
            file.write(script(order_file))
        done = subprocess.run(['gdb', '-q', '-batch', '-nx', '-x', script_file, SIGHT],
                              capture_output=True, text=True, timeout=150, check=False)
    if 'exited normally' not in done.stdout:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    seen = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        if line.startswith('STOP '):
            _, point, *values = line.split()
            seen[point].append(tuple(int(value) if value.isdigit() else value
                                     for value in values))
    return seen


def missing(problems, seen, *rows):
    """Each (point, *arguments), None for any, has been seen."""
    for point, *wanted in rows:
        if not any(all(want in (None, got) for want, got in zip(wanted, row))
                   for row in seen[point]):
            problems.append(f'{point} {wanted} is not among {seen[point][-6:]}')


def stops(problems):
    """A debugger stops at the points, and reads what has happened from their arguments."""
    seen = watch('early 3', 'unready', 'denied', 'gone')
    # Two a connection, east's first: at the start, early's, and the new ones behind the failures.
    east, west = [[row[0] for row in seen['qp_create']][side::2] for side in (0, 1)]
    if len(east) != 4 or len(west) != 4:
        problems.append(f'created: {seen["qp_create"]}')
        return
    missing(
        problems, seen,
        ('qp_state', east[0], RESET, INIT, 'modify'), ('qp_state', east[0], INIT, RTR, 'modify'),
        ('gate_open', east[0], MODIFY, 0, 0), ('qp_state', east[0], RTR, RTS, 'gate'),
        ('qp_destroy', east[0], RTS),
        # early: three were held, and east's WRITE has opened the gate
        ('gate_open', west[1], PACKET, 3), ('qp_state', west[1], RTR, RTS, 'gate'),
        # unready
        ('nak_sent', west[1], RNR_NAK), ('nak_received', east[1], RNR_NAK),
        ('go_back', east[1], None, None, 'rnr'),
        # denied
        ('nak_sent', west[1], ACCESS_NAK), ('nak_received', east[1], ACCESS_NAK),
        ('send_failed', east[1], REM_ACCESS_ERR),
        ('qp_state', east[1], RTS, ERR, 'send_failed'), ('qp_state', west[1], RTS, ERR, 'nak'),
        # gone
        ('drop', west[2], None, 'drop_no_qp'), ('go_back', east[2], None, None, 'timeout'),
        ('command', CREATE_QP, None, 0))
    opened = [row for row in seen['gate_open'] if row[1] == PACKET]
    if len(opened) != 1:
        problems.append(f'opened by packets: {opened}')


def main():
    for tool in ('readelf', 'objdump', 'gdb'):
        if not shutil.which(tool):
            skip(f'there is no {tool}')
    if not notes():
        skip('built without <sys/sdt.h>')
    cases = Cases('integ-trace')
    for case in (all_there, nops, stops):
        problems = []
        case(problems)
        cases.judge(case.__doc__, problems)
    return cases.end()


if __name__ == '__main__':
    sys.exit(main())
