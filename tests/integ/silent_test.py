#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applications that do nothing: silent_test.py PROGRAM

PROGRAM is made of silent.c. Two of them, on the ends of a veth pair, each in a namespace of its
own: one writes, the other one sleeps, and its engine must serve the peer all the same, for next to
no CPU time. The bounds are those of a machine with nothing else to do; where it has, one of a few
rounds is enough.
"""
import os
import select
import subprocess
import sys
import time

from namespace import Cases, Second, enter, errors_in, run

PATIENCE = 60
ROUNDS = 5
WRITES, INTERVAL = 400, 5000  # us: 2 s
CPU_SILENT, CPU_IDLE = 2.0, 1.0  # percent of a CPU
# Who naps instead of sleeping wakes thousands of times, but on a busy machine seldom enough for the
# percentage: so this counts, too. A WRITE wakes once or twice.
WAKES_SILENT, WAKES_IDLE = 4 * WRITES, 100
SERVED = 200.0  # us, the median from post to completion
WOKEN = 100.0  # us more where the writer's own engine sleeps
CPU = min(os.sched_getaffinity(0))
PACKET = 'net_af_packet0,iface={},blocksz=65536,framecnt=256'
XDP = 'net_af_xdp0,iface={},busy_budget=0'
INLINE = '--mode inline'
DEDICATED = f'--mode dedicated --lcore {CPU}'


class Side:
    """A silent program on one end of the pair."""

    def __init__(self, program, link, number, second, device, arguments):
        words = [program, f'--vdev={device.format(link)}', '--no-huge', '-m', '128', '--no-shconf',
                 '--no-telemetry', '--', '--port', device.split(',')[0], '--mbufs', '8191',
                 '--address', f'10.0.0.{number}/24', *arguments.split()]
        self.process = subprocess.Popen(
            second.inside(words) if second else words, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, UROCE_LOG='notice'))
        self.started = self.read()

    def has_answered(self, seconds=0):
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def read(self):
        """One line; the program's end is an empty one."""
        if not self.has_answered(PATIENCE):
            return 'no answer'
        return self.process.stdout.readline().strip()

    def tell(self, command):
        self.process.stdin.write(command + '\n')
        self.process.stdin.flush()

    def ask(self, command):
        self.tell(command)
        return self.read()

    def stop(self):
        """Problems."""
        try:
            _, log = self.process.communicate('quit\n', timeout=PATIENCE)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
            _, log = self.process.communicate()
        status = self.process.returncode
        return [f'it ended with {status}'] * (status != 0) + errors_in(log)


class Pair:
    """Two connected sides: the passive one in the namespace of the test."""

    def __init__(self, program, second, device, passive, active):
        self.sides = [Side(program, 'ours', 1, None, device, passive),
                      Side(program, 'theirs', 2, second, device, active)]
        self.passive, self.active = self.sides
        self.problems = self.connect()

    def connect(self):
        """Both at once: each waits for the other one's MAC. The passive one drives until the
        active one has it, too: it may have no thread that does."""
        if [side.started for side in self.sides] != ['started'] * 2:
            return [f'{side.started!r}, not started' for side in self.sides]
        ends = [side.ask('open') for side in self.sides]
        for side, end in zip(self.sides, reversed(ends)):
            side.tell(end.replace('qp', 'connect'))
        answers = [self.passive.read()]
        while answers == ['connected'] and not self.active.has_answered():
            self.passive.ask('poll 20')
        answers.append(self.active.read())
        return [] if answers == ['connected'] * 2 else [f'{ends} gave {answers}']

    def stop(self):
        """Problems."""
        return [problem for side in self.sides for problem in side.stop()]


def number_after(answer, word):
    """`wrote 3 median 1.5`: 1.5 after `median`."""
    words = answer.split()
    return float(words[words.index(word) + 1]) if word in words else float('inf')


def bound(answer, word, limit):
    value = number_after(answer, word)
    return [] if value <= limit else [f'{word} {value}, not <= {limit}']


def expect(found, wanted):
    return [] if found == wanted else [f'{found!r}, not {wanted!r}']


def silence(pair, writes, cpu, wakes, median):
    """The passive side sleeps, the active one writes or doesn't. Problems."""
    pair.passive.tell(f'idle {WRITES * INTERVAL // 1000 + 200}')
    if writes > 0:
        wrote = pair.active.ask(f'write {writes} {INTERVAL} 2000')
        slept = pair.passive.read()
        arrived = pair.passive.ask('idle 1')  # on a busy machine writing may have taken longer
        print(f'       {slept}; {wrote}')
        return expect(wrote.split()[:2], ['wrote', str(writes)]) + bound(slept, 'cpu', cpu) + \
            bound(slept, 'wakes', wakes) + bound(wrote, 'median', median) + \
            expect(number_after(arrived, 'last'), float(writes))
    slept = pair.passive.read()
    print(f'       {slept}')
    return bound(slept, 'cpu', cpu) + bound(slept, 'wakes', wakes)


def rounds(pair, *arguments):
    """One of them must be good. Problems of the last one."""
    problems = []
    for _ in range(ROUNDS):
        time.sleep(0.2)  # what has just been done is over
        problems = silence(pair, *arguments)
        if not problems:
            break
    return problems


def nobody_serves(pair):
    """The control: without a thread that makes progress a WRITE waits for the application."""
    wrote = pair.active.ask('write 1 0 300')
    found = expect(wrote.split()[:2], ['wrote', '0'])
    polled = pair.passive.ask('poll 2000')
    slept = pair.passive.ask('idle 1')
    return found + expect(polled, 'polled') + expect(number_after(slept, 'last'), 1.0)


def make_interfaces(second):
    run('ip', 'link', 'add', 'ours', 'type', 'veth', 'peer', 'name', 'theirs')
    run('ip', 'link', 'set', 'theirs', 'netns', str(second.process.pid))
    run('ip', 'link', 'set', 'ours', 'up')
    run(*second.inside(['ip', 'link', 'set', 'theirs', 'up']))


ROWS = [
    ('a silent application is served', PACKET, INLINE, INLINE,
     lambda pair: rounds(pair, WRITES, CPU_SILENT, WAKES_SILENT, SERVED)),
    ('a silent application is served', XDP, INLINE, INLINE,
     lambda pair: rounds(pair, WRITES, CPU_SILENT, WAKES_SILENT, SERVED)),
    ('a silent application costs nothing', PACKET, INLINE, INLINE,
     lambda pair: rounds(pair, 0, CPU_IDLE, WAKES_IDLE, 0)),
    ('a dedicated core sleeps', PACKET, f'{DEDICATED} --sleep 50', INLINE,
     lambda pair: rounds(pair, 0, CPU_IDLE, WAKES_IDLE, 0)),
    ('a dedicated core sleeps', XDP, f'{DEDICATED} --sleep 50', INLINE,
     lambda pair: rounds(pair, 0, CPU_IDLE, WAKES_IDLE, 0)),
    ('a dedicated core that sleeps serves', PACKET, f'{DEDICATED} --sleep 50', INLINE,
     lambda pair: rounds(pair, WRITES, CPU_SILENT, WAKES_SILENT, SERVED)),
    ('a dedicated core that sleeps sends', PACKET, INLINE, f'{DEDICATED} --sleep 50',
     lambda pair: rounds(pair, WRITES, CPU_SILENT, WAKES_SILENT, SERVED + WOKEN)),
    ('without the progress thread nobody serves', PACKET, f'{INLINE} --progress off', INLINE,
     nobody_serves),
]


def main(program):
    cases = Cases('integ-silent')
    second = Second()
    make_interfaces(second)
    for what, device, passive, active, check in ROWS:
        pair = Pair(program, second, device, passive, active)
        problems = pair.problems or check(pair)
        cases.judge(f'{device.split(",")[0]} {passive}: {what}', problems + pair.stop())
    return cases.end()


if __name__ == '__main__':
    enter([])
    sys.exit(main(sys.argv[1]))
