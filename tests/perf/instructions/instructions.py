#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per message against the record: instructions.py PROGRAM [--record] [--keep DIR]

Runs `lockstep` under callgrind and compares what each phase took with record.txt. A figure that is
more than 5 % larger fails, and one that is more than 5 % smaller as well, so that the record stays
true: record it, and commit it with the change that made it so. `--keep` leaves callgrind's dumps
in a directory, for callgrind_annotate. The last line is `instructions: N passed, N failed`.
"""
import argparse
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, 'record.txt')
TOLERANCE = 0.05
SKIPPED = 77
IDLE = 'idle round, {} QPs'
HEAD = """\
# Instructions, by callgrind. One line a figure: name, instructions per message (or per round).
# Recorded by: python3 tests/perf/instructions/instructions.py BUILD/tests/perf/instructions/lockstep --record
"""
ROLES = {
    'post': 'requester, ibv_post_send',
    'send': 'requester, packets out',
    'complete': 'requester, ACK in, completion, ibv_poll_cq',
    'receive': 'responder, packets in, placed',
    'answer': 'responder, ACKs out',
    'reap': 'responder, ibv_poll_cq',
    'refill': 'responder, ibv_post_recv',
}


def skip(why):
    print(f'skipped: {why}')
    sys.exit(SKIPPED)


def surroundings(compiler):
    """What the figures depend on beside our source. Only major.minor of the C library."""
    return {'gcc': compiler.split('.')[0], 'libc': platform.libc_ver()[1]}


def name_of(operation, batch, phase):
    if operation == 'round':
        return IDLE.format(batch)
    return f'{operation.upper()} of 8 bytes, {"batch of " + batch if batch != "1" else "single"}' \
           f': {ROLES[phase]}'


def read_dump(path):
    """Returns (name, instructions per message), or None for a dump that nobody asked for."""
    with open(path, encoding='utf-8', errors='replace') as dump:
        text = dump.read()
    asked = re.search(r'^desc: Trigger: Client Request: (\w+) (\d+) (\w+) (\d+)$', text, re.M)
    total = re.search(r'^(?:totals|summary): (\d+)', text, re.M)
    if not asked:
        return None
    return name_of(*asked.groups()[:3]), int(total[1]) / int(asked[4])


def measure(program, directory):
    out = os.path.join(directory, 'dump')
    run = subprocess.run(
        ['valgrind', '--tool=callgrind', '--collect-atstart=no', '--instr-atstart=no',
         f'--callgrind-out-file={out}', program],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env={**os.environ, 'LC_ALL': 'C'})
    if run.returncode:
        print(run.stdout)
        print('instructions: 0 passed, 1 failed')
        sys.exit(1)
    dumps = sorted(glob.glob(out + '.*'), key=lambda path: int(path.rpartition('.')[2]))
    return dict(filter(None, map(read_dump, dumps)))


def write_record(figures, around):
    with open(RECORD, 'w', encoding='utf-8') as record:
        record.write(HEAD)
        for name, value in around.items():
            record.write(f'# {name} {value}\n')
        for name, value in figures.items():
            record.write(f'{value:8.1f}  {name}\n')


def read_record():
    figures, around = {}, {}
    with open(RECORD, encoding='utf-8') as record:
        for line in record:
            words = line.split(None, 1)
            if line.startswith('#'):
                if re.fullmatch(r'# (gcc|libc) \S+\n', line):
                    around[line.split()[1]] = line.split()[2]
            elif words:
                figures[words[1].strip()] = float(words[0])
    return figures, around


def compare(figures, record):
    """Yields (name, remark or ''), a case each."""
    for name in sorted(set(figures) | set(record)):
        if name not in record:
            yield name, f'{figures[name]:.1f}, and not in the record'
        elif name not in figures:
            yield name, 'in the record, and not measured'
        else:
            now, then = figures[name], record[name]
            change = now / then - 1 if then else 1
            yield name, '' if abs(change) <= TOLERANCE else \
                f'{now:.1f} instructions, {change:+.1%} against {then:.1f} in the record'
    # what does nothing costs nothing, exactly
    none, many = IDLE.format(0), IDLE.format(20000)
    yield 'idle QPs add nothing to a round', '' if figures.get(none) == figures.get(many) else \
        f'{figures.get(none)} with none, {figures.get(many)} with 20000'


def compare_judges():
    """compare() refuses what it must: a test that cannot fail is none."""
    idle = {IDLE.format(0): 600.0, IDLE.format(20000): 600.0}
    remarks = [[remark for _, remark in compare({**idle, 'a': value}, {**idle, 'a': 100.0}) if remark]
               for value in (100.0, 104.9, 95.1, 105.2, 94.8)]
    busy = dict(idle, **{IDLE.format(20000): 601.0})
    return [len(found) for found in remarks] == [0, 0, 0, 1, 1] and \
        any(remark for _, remark in compare(busy, busy)) and \
        all(remark for _, remark in compare({'a': 1.0}, {'b': 1.0}) if _ in 'ab')


def judge(figures, program):
    record, _ = read_record()
    cases = list(compare(figures, record))
    cases.append(('the comparison', '' if compare_judges() else 'accepts what it must refuse'))
    failed = [(name, remark) for name, remark in cases if remark]
    for name, value in figures.items():
        print(f'{value:8.1f}  {name}')
    for name, remark in failed:
        print(f'FAILED {name}: {remark}')
    if failed:
        print('If the change is worth it, or saves something, record it in the same commit:\n'
              f'  python3 {os.path.relpath(__file__)} {program} --record')
    print(f'instructions: {len(cases) - len(failed)} passed, {len(failed)} failed')
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--keep')
    parser.add_argument('--compiler', default=None, help='version of the compiler; default: gcc')
    arguments = parser.parse_args()
    compiler = arguments.compiler or subprocess.run(
        ['gcc', '-dumpfullversion'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    around = surroundings(compiler)
    if not shutil.which('valgrind'):
        skip('there is no valgrind')
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as cpuinfo:
        if ' avx2 ' not in cpuinfo.read():
            skip('without AVX2, libraries choose other code than the record has')
    if not arguments.record:
        recorded = read_record()[1]
        for name, value in around.items():
            if recorded.get(name) != value:
                skip(f'the record is of {name} {recorded.get(name)}, this is {name} {value}')
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
        figures = measure(arguments.program, arguments.keep or temporary)
    if arguments.record:
        write_record(figures, around)
        print(f'{len(figures)} figures recorded in {os.path.relpath(RECORD)}')
        return 0
    return judge(figures, arguments.program)


if __name__ == '__main__':
    sys.exit(main())
