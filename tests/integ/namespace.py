# SPDX-License-Identifier: BSD-3-Clause
"""Tests in network namespaces of their own: cases that count, and where they run.

enter() starts the script anew in new network and process namespaces; however the script ends, they
end with it, and with them every process that it has started. A second network namespace is a
process that sleeps there.
"""
import os
import shutil
import subprocess
import sys
import time

INSIDE = 'inside'


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(77)


def enter(tools):
    """Returns inside; the script's arguments are then as they were, without the last."""
    if sys.argv[-1] == INSIDE:
        sys.argv.pop()
        return
    if os.geteuid() != 0:
        skip('needs root, to make network namespaces')
    for tool in ['ip', 'unshare', 'nsenter'] + tools:
        if not shutil.which(tool):
            skip(f'there is no {tool}')
    unshare = ['unshare', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', '--']
    if subprocess.run(unshare + ['true'], stderr=subprocess.DEVNULL, check=False).returncode:
        skip('namespaces cannot be made here')
    os.execvp('unshare', unshare + [sys.executable, '-B'] + sys.argv + [INSIDE])


def run(*words, **options):
    """A command that must work."""
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Second:
    """A second network namespace."""

    def __init__(self):
        self.process = subprocess.Popen(['unshare', '--net', 'sleep', '600'])
        own = os.readlink('/proc/self/ns/net')
        while os.readlink(f'/proc/{self.process.pid}/ns/net') == own:
            time.sleep(0.01)

    def inside(self, words):
        """The words of a command that runs there."""
        return ['nsenter', '--target', str(self.process.pid), '--net'] + list(words)


class Cases:
    """Counts, and prints a line each."""

    def __init__(self, name):
        self.name, self.passed, self.failed = name, 0, 0

    def judge(self, what, problems, output=''):
        """A case: no problems, or what they are; the output is shown if there are any."""
        if not problems:
            self.passed += 1
            print(f'ok     {what}', flush=True)
            return
        self.failed += 1
        print(f'FAILED {what}')
        for line in list(problems) + output.splitlines()[-20:]:
            print(f'       {line}')
        sys.stdout.flush()

    def end(self):
        """The closing line, and the exit status."""
        print(f'{self.name}: {self.passed} passed, {self.failed} failed')
        return self.failed != 0 or self.passed == 0


def errors_in(log):
    """The log's lines at the level of errors."""
    return [line for line in log.splitlines() if line.startswith('uroce: error: ')]
