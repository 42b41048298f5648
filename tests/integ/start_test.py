#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Engines that start EAL themselves: start_test.py PROGRAM

PROGRAM is made of start.c. A row is a command line, what it must print, and a word of the one line
of the log that says what is wrong. In a network namespace of its own, with a veth pair whose end
`ours` has addresses of the kernel's.
"""
import os
import subprocess
import sys

from namespace import Cases, enter, errors_in, run

NULL = '--vdev=net_null0'
SMALL = '--no-huge -m 64 --no-shconf'
PORT = '-- --port net_null0 --mac 02:00:00:00:00:01 --address 10.0.0.1/24 --mbufs 2048'
PACKET = '--vdev=net_af_packet0,iface=ours,framesz=4096,blocksz=65536,framecnt=64'
# The first CPU that this test may use: its number can be a worker's lcore.
CPU = min(os.sched_getaffinity(0))

ROWS = [
    # a person says as little as can be
    (f'{NULL} {PORT}', 'started uroce0', None),
    (f'{SMALL} {NULL} {PORT} --name some', 'started some', None),
    (f'{SMALL} {NULL} {PORT} --mode dedicated --lcore {CPU}', 'started uroce0', None),
    (f'{SMALL} {PACKET} -- --port net_af_packet0 --address 10.0.0.2/24 --mbufs 1024',
     'started uroce0', None),
    # ours are looked at first: nothing has been started
    (f'{NULL} -- --port net_null0', 'EINVAL', 'no address'),
    (f'{NULL}', 'EINVAL', '--vdev'),
    (f'{NULL} {PORT} --mode dedicated', 'EINVAL', '--lcore'),
    # EAL's
    (f'{SMALL} --bogus {NULL} {PORT}', 'EINVAL', 'EAL'),
    (f'{SMALL} --vdev=net_af_packet0,iface=nowhere {PORT}', 'ENODEV', 'EAL'),
    (f'{SMALL} --vdev=net_nothing0 {PORT}', 'ENODEV', 'EAL'),
    # ports and addresses
    (f'{SMALL} {NULL} -- --port net_null1 --address 10.0.0.1/24', 'ENODEV', 'net_null0'),
    (f'{SMALL} -- --port net_null0 --address 10.0.0.1/24', 'ENODEV', '--vdev'),
    (f'{SMALL} {PACKET} -- --port net_af_packet0 --address 10.0.0.50/24', 'EADDRINUSE',
     '10.0.0.50'),
    (f'{SMALL} {PACKET} -- --port net_af_packet0 --address 10.0.0.2/24 --address fd00::50/64',
     'EADDRINUSE', 'fd00::50'),
    (f'{SMALL} {NULL} {PORT} --mbufs 1000000', 'ENOMEM', '--mbufs'),
]

# A value of UROCE_LOG, what the log has then, and what it must not have.
LEVELS = [
    ('error', [], ['uroce: ']),
    ('warning', [], ['uroce: ']),
    ('notice', [], ['uroce: ']),
    ('info', ['uroce: info: net_null0: MTU '], ['uroce: debug: ']),
    ('debug', ['uroce: info: net_null0: MTU ', 'uroce: debug: EAL argument: --no-huge',
               'uroce: debug: EAL: Selected IOVA mode'], ['uroce: warning: ']),
    # one line, and then as if it said notice
    ('loud', ['uroce: warning: UROCE_LOG=loud is none of error, warning, notice, info, debug'],
     ['uroce: info: ']),
]


def start(program, words, level='notice'):
    return subprocess.run([program] + words.split(), capture_output=True, text=True, timeout=60,
                          check=False, env=dict(os.environ, UROCE_LOG=level))


def wrong_lines(log, wanted, unwanted):
    found = [f'{log.count(line)} lines: {line}' for line in wanted if log.count(line) != 1]
    return found + [f'there is a line: {line}' for line in unwanted if line in log]


def problems(result, expected, word):
    errors = errors_in(result.stderr)
    found = []
    answer = (result.stdout.splitlines() or [''])[-1]  # EAL may print its usage before
    if answer != expected:
        found.append(f'it printed {answer!r}, not {expected!r}')
    if result.returncode != (0 if word is None else 1):
        found.append(f'status {result.returncode}')
    if word is None and errors:
        found.append('there are errors in the log')
    if word is not None and not any(word in line for line in errors):
        found.append(f'no error in the log has the word {word}')
    return found


def make_interface():
    run('ip', 'link', 'add', 'ours', 'mtu', '4000', 'type', 'veth', 'peer', 'name', 'theirs')
    for link in 'lo', 'ours', 'theirs':
        run('ip', 'link', 'set', link, 'up')
    run('ip', 'address', 'add', '10.0.0.50/24', 'dev', 'ours')
    run('ip', 'address', 'add', 'fd00::50/64', 'dev', 'lo', 'nodad')


def main(program):
    cases = Cases('integ-start')
    make_interface()
    for words, expected, word in ROWS:
        result = start(program, words)
        cases.judge(f'{expected}: {words}', problems(result, expected, word), result.stderr)
    for level, wanted, unwanted in LEVELS:
        result = start(program, f'{SMALL} {NULL} {PORT}', level)
        cases.judge(f'UROCE_LOG={level}', wrong_lines(result.stderr, wanted, unwanted),
                    result.stderr)
    return cases.end()


if __name__ == '__main__':
    enter([])
    sys.exit(main(sys.argv[1]))
