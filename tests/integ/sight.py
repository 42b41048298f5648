# SPDX-License-Identifier: BSD-3-Clause
"""The program sight.c under a test's hand: it obeys, and says ok."""
import os
import subprocess


class Sight:
    """EAL's words, then the east engine's. As a context manager: told to quit, and waited for."""

    def __init__(self, program, eal=(), east=(), level='notice'):
        words = [program, *eal, '--', *east]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ, UROCE_LOG=level))
        self.log = ''
        self.obeyed()

    def obeyed(self):
        line = self.process.stdout.readline()
        while line and line != 'ok\n':  # EAL may have something to say
            line = self.process.stdout.readline()
        if not line:
            self.end()
            raise RuntimeError(f'it ended: {self.log}')

    def tell(self, order):
        self.process.stdin.write(order + '\n')
        self.process.stdin.flush()
        self.obeyed()

    def end(self, order=''):
        """Returns its status; its log is complete then."""
        self.log += self.process.communicate(order, timeout=60)[1]
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None and self.end('quit\n') and not error[0]:
            raise RuntimeError(f'status {self.process.returncode}: {self.log}')

    def lines(self, level):
        """The log's lines of one level, once it has ended."""
        return [line for line in self.log.splitlines() if line.startswith(f'uroce: {level}: ')]
