#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Engines seen through DPDK's telemetry: telemetry_test.py SIGHT

SIGHT is made of sight.c. The client is DPDK's protocol in a few lines: a SEQPACKET socket, a
greeting, then a command a packet and an answer in JSON.
"""
import glob
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile

from namespace import Cases
from sight import Sight

SIGHT = sys.argv[1]
PREFIX = f'uroce_test_{secrets.token_hex(4)}'
RUNTIME = tempfile.mkdtemp(prefix='uroce-')
EAL = [f'--file-prefix={PREFIX}', '--telemetry']


class Client:
    """A connection; asked, it returns what the answer holds for the command."""

    def __init__(self):
        folders = [RUNTIME, '/var/run', '/run', os.environ.get('XDG_RUNTIME_DIR', '/run')]
        paths = [path for folder in folders
                 for path in glob.glob(f'{folder}/dpdk/{PREFIX}/dpdk_telemetry.v2*')]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(30)
        self.socket.connect(paths[0])
        self.room = json.loads(self.socket.recv(1024))['max_output_len']

    def ask(self, question):
        self.socket.send(question.encode())
        answer = json.loads(self.socket.recv(self.room))
        return answer[question.split(',')[0]]


class Seen:
    """Problems found so far."""

    def __init__(self):
        self.problems = []

    def equal(self, what, got, wanted):
        if got != wanted:
            self.problems.append(f'{what}: {got!r}, not {wanted!r}')


def engines(seen):
    """Engines are listed, help is there, and wrong questions get no answer."""
    with Sight(SIGHT, EAL):
        client = Client()
        seen.equal('engines', client.ask('/uroce/engines'), ['east', 'west'])
        commands = [name for name in client.ask('/') if name.startswith('/uroce')]
        seen.equal('commands', sorted(commands), [
            '/uroce/capture', '/uroce/capture_stop', '/uroce/counters', '/uroce/engines',
            '/uroce/hold_histogram', '/uroce/qps'])
        for command in commands:
            text = str(client.ask(f'/help,{command}'))
            seen.equal(f'help of {command}', 'arameters' in text, True)
        for question in ('/uroce/counters,north', '/uroce/counters', '/uroce/qps,west,99999999',
                         '/uroce/qps,west,2', '/uroce/qps,west,from=x', '/uroce/capture,west',
                         '/uroce/capture_stop,west', '/uroce/hold_histogram,'):
            seen.equal(question, client.ask(question), None)


def counters(seen):
    """What has happened is counted, on either side, under the names of the documents."""
    with Sight(SIGHT, EAL) as sight:
        sight.tell('write 4000 10')
        sight.tell('send 100 3')
        sight.tell('read 3000 2')
        sight.tell('unready')
        sight.tell('denied')
        client = Client()
        east, west = (client.ask(f'/uroce/counters,{name}') for name in ('east', 'west'))
    for side, name, wanted in (
            ('east', 'rdma_sends', 4), ('west', 'rdma_sends', 0), ('west', 'rdma_recvs', 4),
            ('east', 'sent_bytes', None), ('west', 'sent_bytes', 6000), ('east', 'rcvd_bytes', 6000),
            ('west', 'send_rnr_err', None), ('west', 'sent_nak_access', 1),
            ('east', 'rcvd_nak_access', 1), ('east', 'link_downed', 0), ('west', 'drop_icrc', 0)):
        got = (east if side == 'east' else west)[name]
        if wanted is None:
            seen.equal(f'{side} {name} moves', got > 0, True)
        else:
            seen.equal(f'{side} {name}', got, wanted)
    seen.equal('names', list(east), list(west))
    seen.equal('RNR NAKs', east['rcvd_rnr_err'], west['send_rnr_err'])
    seen.equal('frames', east['port_tx_packets'], west['port_rx_packets'])
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../docs/counters.md'),
              encoding='utf-8') as file:
        text = file.read()
    seen.equal('not in docs/counters.md', [name for name in east if f'`{name}`' not in text], [])


def queue_pairs(seen):
    """QPs with their gates: in RTS, and one by one what was held and what opened it."""
    with Sight(SIGHT, EAL) as sight:
        client = Client()
        qps = client.ask('/uroce/qps,west')
        seen.equal('one', [line for line in qps.values()], ['RTS armed open held=0 ms=0 core=0'])
        number = next(iter(qps))
        one = client.ask(f'/uroce/qps,west,{number}')
        seen.equal('opened by', (one['state'], one['opened_by'], one['held']), ('RTS', 'modify', 0))
        sight.tell('early 5')
        number = next(iter(client.ask('/uroce/qps,west')))
        one = client.ask(f'/uroce/qps,west,{number}')
        seen.equal('early', (one['shown'], one['closed'], one['opened_by'], one['held'],
                             one['released'], one['held_now'], one['promoted_packet']),
                   ('RTS', 0, 'packet', 5, 5, 0, 1))
        histogram = client.ask('/uroce/hold_histogram,west')
        seen.equal('histogram', (len(histogram), sum(histogram.values())), (12, 1))
        seen.equal('the rest', client.ask('/uroce/qps,west,from=1'), {})


def captures(seen):
    """A capture begins, is the only one, and ends, while the engines work."""
    file = os.path.join(RUNTIME, 'a.pcapng')
    with Sight(SIGHT, EAL) as sight:
        client = Client()
        for _ in range(2):
            seen.equal('begun', client.ask(f'/uroce/capture,east,{file},packets=1000')['status'],
                       'begun')
            again = client.ask(f'/uroce/capture,east,{file}')['status']
            seen.equal('again', again, os.strerror(16))
            sight.tell('write 1000 20')
            got = client.ask('/uroce/capture_stop,east')
            seen.equal('packets', (got['packets'], got['dropped']), (40, 0))
            seen.equal('in the file', os.path.getsize(file) > got['bytes'], True)
            seen.equal('stopped', client.ask('/uroce/capture_stop,east'), None)
        nowhere = client.ask(f'/uroce/capture,east,{RUNTIME}/no/file')['status']
        seen.equal('nowhere', nowhere, os.strerror(2))
        sight.tell('write 1000 20')
    seen.equal('errors', len(sight.lines('error')), 3)


def main():
    os.environ['XDG_RUNTIME_DIR'] = RUNTIME
    cases = Cases('integ-telemetry')
    for case in (engines, counters, queue_pairs, captures):
        seen = Seen()
        case(seen)
        cases.judge(case.__doc__, seen.problems)
    for folder in [RUNTIME] + glob.glob(f'/var/run/dpdk/{PREFIX}'):
        shutil.rmtree(folder)
    return cases.end()


if __name__ == '__main__':
    sys.exit(main())
