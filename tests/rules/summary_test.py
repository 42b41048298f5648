#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `./dev test` adds up, and how `./dev` takes wrong arguments: summary_test.py"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests'))
import summary  # noqa: E402  (the path has to be set first)


def log(result, stdout, name='t'):
    return {'name': 'uroce:unit / ' + name, 'result': result, 'stdout': stdout}


# What meson logged about one program; what it counts for.
JUDGED = [
    (log('OK', 'noise\nbase-hash: 6 passed, 0 failed\n'), (6, 0)),
    (log('OK', 'base-hash: 6 passed, 0 failed\n\n'), (6, 0)),
    (log('FAIL', 'base-hash: 5 passed, 1 failed\n'), (5, 1)),
    (log('OK', 'base-hash: 5 passed, 1 failed\n'), (5, 1)),       # lied with its exit status
    (log('ERROR', 'half a li'), (0, 1)),                          # crashed
    (log('TIMEOUT', ''), (0, 1)),
    (log('OK', 'all is well\n'), (0, 1)),                         # printed no closing line
    (log('OK', ''), (0, 1)),
    ({'name': 't', 'result': 'OK', 'stdout': None}, (0, 1)),
    (log('FAIL', 'base-hash: 6 passed, 0 failed\n'), (6, 1)),     # a sanitizer spoke at exit
    (log('ERROR', 'base-hash: 6 passed, 0 failed\n'), (6, 1)),
    (log('OK', 'base-hash: 6 passed, 0 failed\nmore\n'), (0, 1)),  # not the last line
    (log('OK', 'base-hash: 0 passed, 0 failed\n'), (0, 1)),
    (log('SKIP', 'no huge pages\n'), (0, 0)),
]

# Arguments of ./dev; its exit status and whether the usage goes to stdout or stderr.
ARGUMENTS = [
    (['help'], 0, 'stdout'),
    ([], 0, 'stdout'),
    (['nonsense'], 2, 'stderr'),
    (['test', 'extra'], 2, 'stderr'),
    (['sim'], 2, 'stderr'),
    (['sim', '0'], 2, 'stderr'),
    (['sim', 'ten'], 2, 'stderr'),
    (['fuzz', '-1'], 2, 'stderr'),
    (['build', 'fast'], 2, 'stderr'),
]


def judged():
    for test, expected in JUDGED:
        yield f'judge {test["result"]} {test["stdout"]!r}', summary.judge(test)[:2], expected


def summed():
    tests = [log('OK', 'a: 2 passed, 0 failed', 'a'), log('FAIL', 'b: 3 passed, 4 failed', 'b'),
             log('SKIP', 'no tshark', 'c')]
    lines, passed, failed = summary.summarize(tests)
    yield 'sum', (passed, failed), (5, 4)
    yield 'the failing program is named', 'b: 4 failed' in lines, True
    yield 'the skipped one too, with the reason', 'c: skipped: no tshark' in lines, True
    yield 'the suite has its sum', lines[0].split(), 'unit 5 passed 4 failed'.split()
    yield 'a name without a suite', summary.split_name({'name': 'a'}), ('other', 'a')


def whole_program():
    """A run in which nothing ran is a failure."""
    out = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'tests/summary.py'), '/dev/null'],
                         capture_output=True, text=True, check=False)
    yield 'an empty log fails', out.returncode, 1
    yield 'an empty log still ends with the line', out.stdout.splitlines()[-1], '0 passed, 1 failed'


def arguments():
    for words, status, stream in ARGUMENTS:
        out = subprocess.run([os.path.join(ROOT, 'dev')] + words, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, check=False)
        yield f'./dev {" ".join(words)}: status', out.returncode, status
        yield f'./dev {" ".join(words)}: usage', 'usage: ./dev' in getattr(out, stream), True


def main():
    passed = failed = 0
    for checks in (judged, summed, whole_program, arguments):
        for name, got, expected in checks():
            if got == expected:
                passed += 1
            else:
                failed += 1
                print(f'FAILED {name}: {got!r}, expected {expected!r}')
    print(f'summary: {passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
