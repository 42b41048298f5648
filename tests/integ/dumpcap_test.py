#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's own capture of an engine's port: dumpcap_test.py LINGER

LINGER is made of linger.c. In network namespaces, over a veth pair whose other end is the kernel's; needs
128 MiB of free hugepages, which it doesn't reserve by itself.
"""
import glob
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

from namespace import Cases, enter, run, skip

PREFIX = f'uroce_test_{secrets.token_hex(4)}'
FOLDER = tempfile.gettempdir()
PORT = ('--vdev=net_af_packet0,iface=ours,framesz=4096,blocksz=65536,framecnt=64 -- '
        '--port net_af_packet0 --address 10.0.0.2/24 --mbufs 1023')


def free_megabytes():
    total = 0
    for folder in glob.glob('/sys/kernel/mm/hugepages/hugepages-*kB'):
        size = int(re.search(r'-(\d+)kB', folder)[1])
        with open(folder + '/free_hugepages', encoding='ascii') as file:
            total += size * int(file.read()) // 1024
    return total


class Engine:
    """A linger that runs."""

    def __init__(self, program, eal):
        self.process = subprocess.Popen([program] + (eal + ' ' + PORT).split(), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        while 'started' not in (line := self.process.stdout.readline()):
            if not line:
                raise RuntimeError('the engine does not start')
        return self

    def __exit__(self, *error):
        self.process.communicate('\n', timeout=30)


def capture(file):
    """What dpdk-dumpcap does in five seconds, two pings among them."""
    dump = subprocess.Popen(['dpdk-dumpcap', f'--file-prefix={PREFIX}', '-q', '-i', 'net_af_packet0',
                             '-a', 'duration:5', '-w', file], stderr=subprocess.STDOUT,
                            stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    subprocess.run(['ping', '-q', '-c', '2', '-i', '0.2', '-W', '5', '10.0.0.2'],
                   stdout=subprocess.DEVNULL, check=False)
    return dump.communicate(timeout=60)[0], dump.returncode


def pings(program, eal):
    """Both directions are captured."""
    file = os.path.join(FOLDER, PREFIX + '.pcapng')
    try:
        with Engine(program, eal):
            said, status = capture(file)
        if status:
            return [f'dpdk-dumpcap ends with {status}'], said
        kinds = run('tshark', '-r', file, '-Y', 'icmp', '-T', 'fields', '-e', 'icmp.type').split()
        return ([] if sorted(kinds) == ['0', '0', '8', '8'] else [f'ICMP types {kinds}']), said
    finally:
        if os.path.exists(file):
            os.remove(file)


def refused(program):
    """Without a prefix there is nothing to map: dpdk-dumpcap says so, and the engine goes on."""
    with Engine(program, ''):
        said, status = capture(os.devnull)
        alive = subprocess.run(['ping', '-q', '-c', '1', '-W', '5', '10.0.0.2'],
                               stdout=subprocess.DEVNULL, check=False).returncode == 0
    return ([] if status else ['dpdk-dumpcap works']) + ([] if alive else ['no echo']), said


def main(program):
    cases = Cases('integ-dumpcap')
    run('ip', 'link', 'add', 'ours', 'type', 'veth', 'peer', 'name', 'theirs')
    for link in 'lo', 'ours', 'theirs':
        run('ip', 'link', 'set', link, 'up')
    run('ip', 'address', 'add', '10.0.0.9/24', 'dev', 'theirs')
    if free_megabytes() < 128:
        skip('no hugepages are free, and without them DPDK has no second process')
    with tempfile.TemporaryDirectory() as pages:
        run('mount', '-t', 'hugetlbfs', 'nodev', pages)
        try:
            eal = f'--file-prefix={PREFIX} --huge-dir={pages} -m 100'
            cases.judge(pings.__doc__, *pings(program, eal))
            cases.judge(refused.__doc__, *refused(program))
        finally:
            run('umount', pages)
            for runtime in glob.glob(f'/var/run/dpdk/{PREFIX}'):
                shutil.rmtree(runtime)
    return cases.end()


if __name__ == '__main__':
    enter(['dpdk-dumpcap', 'tshark', 'ping'])
    sys.exit(main(sys.argv[1]))
