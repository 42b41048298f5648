#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adds up the closing lines of the test programs: summary.py TESTLOG.json

Reads meson's log of one run, a JSON object a line. Every test program ends with
`NAME: N passed, N failed`. One that ends without that line, or in another way than the line says
(a crash, a time-out, a sanitizer's report at exit), counts as one failure more. Exit status 77
means skipped, with the reason in the last line.
"""
import json
import re
import sys

CLOSING = re.compile(r'^[\w./-]+: (\d+) passed, (\d+) failed$')
FINE = ('OK', 'EXPECTEDFAIL')


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ''


def judge(test):
    """Returns (passed, failed, remark) of one test program."""
    closing = CLOSING.match(last_line(test.get('stdout') or ''))
    result = test['result']
    if result == 'SKIP':
        return 0, 0, 'skipped: ' + (last_line(test.get('stdout') or '') or 'no reason given')
    if not closing:
        return 0, 1, f'{result}, no closing line'
    passed, failed = int(closing[1]), int(closing[2])
    if result not in FINE and failed == 0:
        return passed, 1, f'{result} after its closing line'
    if result in FINE and failed:
        return passed, failed, 'exit status 0 in spite of failures'
    if passed + failed == 0:
        return 0, 1, 'ran nothing'
    return passed, failed, f'{failed} failed' if failed else ''


def split_name(test):
    """meson writes `PROJECT:SUITE / NAME`, or `NAME` alone outside any suite."""
    head, _, name = test['name'].rpartition(' / ')
    return head.split(':')[-1].split('+')[0] or 'other', name


def summarize(tests):
    """Returns (lines to print, passed, failed)."""
    suites, remarks = {}, []
    for test in tests:
        passed, failed, remark = judge(test)
        suite, name = split_name(test)
        total = suites.setdefault(suite, [0, 0])
        total[0] += passed
        total[1] += failed
        if remark:
            remarks.append(f'{name}: {remark}')
    lines = [f'{suite:10} {passed:6} passed {failed:4} failed'
             for suite, (passed, failed) in sorted(suites.items())]
    passed = sum(total[0] for total in suites.values())
    failed = sum(total[1] for total in suites.values())
    return lines + remarks, passed, failed


def main(path):
    try:
        with open(path, encoding='utf-8') as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(f'no test ran: {error}')
        tests = []
    lines, passed, failed = summarize(tests)
    print('\n'.join(lines))
    if passed + failed == 0:
        failed = 1
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
