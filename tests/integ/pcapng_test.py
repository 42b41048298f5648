#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures by the engine itself: pcapng_test.py SIGHT UROCE_DUMP

SIGHT is made of sight.c. Its captures are read by tshark, and by uroce-dump, which judges ICRCs.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from namespace import Cases, run, skip
from sight import Sight

SIGHT, DUMP = sys.argv[1:3]
FOLDER = tempfile.mkdtemp(prefix='uroce-')
# Opcodes of the BTH (IBTA table 38).
ACK, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 17, 6, 7, 8, 10
SEND_ONLY, READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST = 4, 12, 13, 14, 15
IN, OUT = 1, 2
WRITTEN = re.compile(r'captured into (\S+) \(packets: (\d+), bytes: (\d+), dropped: (\d+)\)')


def path(name):
    return os.path.join(FOLDER, name)


def fields(file, *names):
    """A row a packet, as tshark sees them."""
    words = ['tshark', '-r', file, '-T', 'fields', '-E', 'separator=;']
    out = run(*words, *[word for name in names for word in ('-e', name)])
    return [line.split(';') for line in out.splitlines()]


def expect(found, what, got, wanted):
    if got != wanted:
        found.append(f'{what}: {got}, not {wanted}')


def bad_icrcs(file):
    """uroce-dump's word on the packets; it reads the old format."""
    run('editcap', '-F', 'pcap', file, file + '.pcap')
    done = subprocess.run([DUMP, '-q', file + '.pcap'], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[-1], done.returncode


def packets(file):
    """How often each (direction, opcode) is in it."""
    rows = fields(file, 'frame.packet_flags_direction', 'infiniband.bth.opcode')
    return collections.Counter((int(way, 0), int(opcode)) for way, opcode in rows if opcode)


def both_directions():
    """Everything that passes is in it once, with its direction, unharmed."""
    file, found, start = path('all.pcapng'), [], time.time()
    with Sight(SIGHT, ['--no-telemetry'], ['--capture', file]) as sight:
        sight.tell('write 4000 10')
        sight.tell('send 100 3')
        sight.tell('read 3000 2')
    wanted = {(OUT, WRITE_FIRST): 10, (OUT, WRITE_MIDDLE): 20, (OUT, WRITE_LAST): 10,
              (OUT, SEND_ONLY): 3, (OUT, READ_REQUEST): 2, (IN, READ_FIRST): 2,
              (IN, READ_MIDDLE): 2, (IN, READ_LAST): 2, (IN, ACK): 13}
    expect(found, 'packets', dict(packets(file)), wanted)
    expect(found, 'malformed', fields(file, '_ws.malformed') != [] and
           [row for row in fields(file, '_ws.malformed') if row != ['']], [])
    summary, status = bad_icrcs(file)
    if status or ' 0 bad' not in summary:
        found.append(summary)
    times = [float(row[0]) for row in fields(file, 'frame.time_epoch')]
    if not all(start - 2 < when < time.time() + 2 for when in times) or times != sorted(times):
        found.append(f'times from {times[0]} to {times[-1]}, at {start}')
    said = [WRITTEN.search(line) for line in sight.lines('notice')]
    said = [match for match in said if match]
    expect(found, 'lines', len(said), 1)
    if said:
        expect(found, 'written', int(said[0][2]), len(times))
        expect(found, 'size', int(said[0][3]) < os.path.getsize(file), True)
        expect(found, 'dropped', said[0][4], '0')
    return found, sight.log


def goes_on():
    """Many times what is on its way to the file at once (1,024 frames): what keeps up is all there."""
    file, found = path('long.pcapng'), []
    with Sight(SIGHT, ['--no-telemetry'], ['--capture', file]) as sight:
        for _ in range(40):
            sight.tell('write 4000 20')
            time.sleep(0.01)  # what is in the ring is written every 0.5 ms
    said = next((match for match in map(WRITTEN.search, sight.lines('notice')) if match), None)
    expect(found, 'dropped', said and said[4], '0')
    expect(found, 'frames', len(fields(file, 'frame.number')) >= 40 * 20 * 4, True)
    return found, sight.log


def limits():
    """snaplen cuts, packets and bytes end the file; the engine goes on."""
    found = []
    logs = ''
    for option, check in (
            ('snaplen=60', lambda file: max(int(row[0]) for row in fields(file, 'frame.cap_len')) == 60
             and max(int(row[0]) for row in fields(file, 'frame.len')) > 1000),
            ('packets=7', lambda file: len(fields(file, 'frame.number')) == 7),
            ('bytes=5000', lambda file: 5000 <= os.path.getsize(file) < 60000)):
        file = path(option + '.pcapng')
        with Sight(SIGHT, ['--no-telemetry'], ['--capture', f'{file},{option}']) as sight:
            sight.tell('write 4000 40')
            sight.tell('write 4000 40')
        logs += sight.log
        if not check(file):
            found.append(f'{option}: not kept')
        expect(found, f'{option}: lines', len([line for line in sight.lines('notice')
                                               if WRITTEN.search(line)]), 1)
    return found, logs


def overflow():
    """A file that takes no more for a while costs frames, which are counted, and nothing else."""
    fifo, file, found = path('fifo'), path('overflow.pcapng'), []
    go_on = threading.Event()

    def read():
        with open(fifo, 'rb') as source, open(file, 'wb') as target:
            go_on.wait()
            shutil.copyfileobj(source, target)

    os.mkfifo(fifo)
    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.5)  # it waits in open()
    with Sight(SIGHT, ['--no-telemetry'], ['--capture', fifo]) as sight:
        sight.tell('write 4000 600')
        go_on.set()
    reader.join()
    line = next((match for match in map(WRITTEN.search, sight.lines('notice')) if match), None)
    if not line:
        return ['there is no line'], sight.log
    packets_written, dropped = int(line[2]), int(line[4])
    expect(found, 'dropped some', dropped > 0, True)
    expect(found, 'all are counted', packets_written + dropped >= 600 * 5, True)
    expect(found, 'in the file', len(fields(file, 'frame.number')), packets_written)
    return found, sight.log


def no_reader():
    """A FIFO that nobody reads is one line, and nobody waits."""
    fifo, found = path('unread'), []
    os.mkfifo(fifo)
    with Sight(SIGHT, ['--no-telemetry'], ['--capture', fifo]) as sight:
        sight.tell('write 4000 10')
    expect(found, 'errors', len(sight.lines('error')), 1)
    return found, sight.log


def reader_goes():
    """A reader that goes away is one line, one that stalls is not waited for."""
    found, logs = [], ''
    for name, command in ('gone', 'head -c 3000'), ('stalled', 'sleep 60'):
        fifo = path(name)
        os.mkfifo(fifo)
        with subprocess.Popen(f'exec {command} < {fifo} > /dev/null', shell=True) as reader:
            time.sleep(0.5)  # it waits in open()
            with Sight(SIGHT, ['--no-telemetry'], ['--capture', fifo]) as sight:
                sight.tell('write 4000 200')
                sight.tell('write 4000 200')
                sight.tell('write 4000 200')
            logs += sight.log
            expect(found, f'{name}: errors', len(sight.lines('error')), 1)
            reader.kill()
    return found, logs


def full_disk():
    """One line, and the engine goes on: full at once, and after some frames."""
    found, logs = [], ''
    small = path('small')
    os.mkdir(small)
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small],
                             capture_output=True, check=False).returncode == 0
    try:
        for file in ['/dev/full', path('no/such/folder')] + [small + '/a.pcapng'] * mounted:
            with Sight(SIGHT, ['--no-telemetry'], ['--capture', file]) as sight:
                sight.tell('write 4000 100')
                sight.tell('write 4000 100')
            logs += sight.log
            expect(found, f'{file}: errors', len(sight.lines('error')), 1)
            expect(found, f'{file}: notices',
                   [line for line in sight.lines('notice') if 'captured' in line], [])
    finally:
        if mounted:
            subprocess.run(['umount', small], check=False)
    return found, logs


def main():
    if not shutil.which('tshark') or not shutil.which('editcap'):
        shutil.rmtree(FOLDER)
        skip('there is no tshark')
    cases = Cases('integ-pcapng')
    for case in (both_directions, goes_on, limits, overflow, no_reader, reader_goes, full_disk):
        cases.judge(case.__doc__.splitlines()[0], *case())
    shutil.rmtree(FOLDER)
    return cases.end()


if __name__ == '__main__':
    sys.exit(main())
