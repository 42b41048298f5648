#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified verbs programs, with the front preloaded: preload_test.py LIBUROCE LIBUROCE_ENGINE

The programs are Debian's ibverbs-utils. Two processes, each in a network namespace of its own, with
an engine of its own on its end of a veth pair. The kernel's ends have addresses for the programs'
TCP connections; uroce's are others. Most run with a core for each engine (--mode dedicated); some
inline, where the client sleeps in read() until the server has moved its QP, and the progress thread
is the one that answers meanwhile.
"""
import json
import os
import re
import subprocess
import sys
import time

from namespace import Cases, Second, enter, errors_in, run, skip

TIME = 90  # seconds, for what takes one or two; only a failure uses it up
TCP_SERVER, SERVER, CLIENT = '10.99.1.1', '10.99.2.1', '10.99.2.2'
CPUS = sorted(os.sched_getaffinity(0))

# Program, options, size, iterations: around a packet's and a page's edge, every path MTU, one that
# polls, others that sleep until there is an event (which costs less on a busy machine).
PINGPONGS = [
    ('ibv_rc_pingpong', '-c', 4096, 10),
    ('ibv_rc_pingpong', '-e', 1, 50),
    ('ibv_rc_pingpong', '-c -e', 65536, 20),
    ('ibv_rc_pingpong', '-c -e -m 256', 4096, 20),
    ('ibv_rc_pingpong', '-c -e -m 512', 10000, 20),
    ('ibv_rc_pingpong', '-c -e -m 2048', 65536, 20),
    ('ibv_rc_pingpong', '-c -e -m 4096', 1000000, 10),
    ('ibv_srq_pingpong', '-e -q 4', 8192, 40),
]


INLINE = [
    ('ibv_rc_pingpong', '-c', 4096, 50),
    ('ibv_rc_pingpong', '-c -e', 65536, 20),
    ('ibv_srq_pingpong', '-e -q 4', 8192, 40),
]


def preloaded(front):
    """What LD_PRELOAD names: a sanitizer's library must come first, and be one (as gcc's are)."""
    sanitizers = re.findall(r'=> (\S*/lib(?:asan|tsan|ubsan)\S*)', run('ldd', front))
    with open(front, 'rb') as file:
        text = file.read()
    if not sanitizers and (b'__asan_init' in text or b'__tsan_init' in text):
        skip('the sanitizer has to be linked to the program, which is not ours')
    return ' '.join(sanitizers + [front])


class Bench:
    """The libraries, the two namespaces, and what runs in them."""

    def __init__(self, front, engine):
        self.front, self.engine = preloaded(front), engine
        self.second = Second()
        self.port = 18515
        self.inline = False
        peer = str(self.second.process.pid)
        run('ip', 'link', 'add', 'veth-s', 'mtu', '4200', 'type', 'veth',
            'peer', 'name', 'veth-c', 'mtu', '4200', 'netns', peer)
        for inside, link, address in (list, 'veth-s', TCP_SERVER), \
                (self.second.inside, 'veth-c', '10.99.1.2'):
            run(*inside(['ip', 'address', 'add', address + '/24', 'dev', link]))
            run(*inside(['ip', 'link', 'set', link, 'up']))
            run(*inside(['ip', 'link', 'set', 'lo', 'up']))

    def environment(self, link, address, cpu):
        arguments = (f'--no-huge -m 256 --no-shconf '
                     f'--vdev=net_af_packet0,iface={link},framesz=8192,blocksz=65536,framecnt=512 '
                     f'-- --port net_af_packet0 --address {address}/24 '
                     + ('--mode inline' if self.inline else f'--mode dedicated --lcore {cpu}'))
        return dict(os.environ, LD_PRELOAD=self.front, UROCE_ARGS=arguments,
                    LD_LIBRARY_PATH=os.path.dirname(self.engine),
                    ASAN_OPTIONS='detect_leaks=0')  # the programs' are not ours

    def server(self):
        return self.environment('veth-s', SERVER, CPUS[0])

    def client(self):
        return self.environment('veth-c', CLIENT, CPUS[-1])

    def sent(self):
        """Bytes and packets that the server's end has sent so far."""
        link = json.loads(run('ip', '-json', '-statistics', 'link', 'show', 'veth-s'))[0]
        return link['stats64']['tx']['bytes'], link['stats64']['tx']['packets']


def call(words, environment):
    """Returns a completed process, with one text of all that it printed."""
    return subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=TIME, check=False)


def listens(port):
    """Does somebody in this namespace listen there? (proc(5): state 0A is LISTEN)"""
    for table in '/proc/net/tcp', '/proc/net/tcp6':
        with open(table, encoding='ascii') as file:
            for line in file:
                if re.match(rf'\s*\d+: [0-9A-F]+:{port:04X} \S+ 0A ', line):
                    return True
    return False


def pair(bench, words):
    """Runs server and client; returns their exit statuses and what they printed."""
    bench.port += 1
    words = words + ['-p', str(bench.port)]
    server = subprocess.Popen(words, env=bench.server(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + TIME
    while not listens(bench.port) and server.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    try:
        client = call(bench.second.inside(words + [TCP_SERVER]), bench.client())
        text = server.communicate(timeout=TIME)[0]
    except subprocess.TimeoutExpired as late:
        server.kill()
        return None, None, f'{late}\n{server.communicate()[0]}'
    return server.returncode, client.returncode, \
        f'server:\n{text}client:\n{client.stdout}'


def pingpong(cases, bench, program, options, size, count):
    before = bench.sent()
    words = [program, '-g', '0', '-s', str(size), '-n', str(count)] + options.split()
    server, client, text = pair(bench, words)
    sent = [new - old for new, old in zip(bench.sent(), before)]
    mtu = int((re.search(r'-m (\d+)', options) or [0, 1024])[1])
    problems = []
    if server != 0 or client != 0:
        problems.append(f'exit statuses {server} and {client}')
    # each end counts both directions
    if text.count(f'{2 * size * count} bytes in ') != 2 or text.count(f'{count} iters in ') != 2:
        problems.append('not every message has come')
    if 'invalid data' in text:  # -c says so, and ends with 0 all the same
        problems.append('data differ')
    if sent[0] < size * count or sent[1] < count * -(-size // mtu):
        problems.append(f'the server sent {sent[0]} bytes in {sent[1]} packets only')
    cases.judge(' '.join(words) + (', inline' if bench.inline else ''), problems, text)


def without_gid(cases, bench):
    """RoCE has no LIDs: without -g the program's move to RTR is refused, as on an RNIC."""
    server, client, text = pair(bench, ['ibv_rc_pingpong'])
    problems = [] if server == 1 and client == 1 and 'Failed to modify QP to RTR' in text else \
        [f'exit statuses {server} and {client}']
    cases.judge('ibv_rc_pingpong without a GID', problems, text)


def expect(cases, what, done, status, patterns):
    """One process: its exit status, and what it must print."""
    problems = [f'it did not print {pattern}' for pattern in patterns
                if not re.search(pattern, done.stdout, re.MULTILINE)]
    if done.returncode != status:
        problems.append(f'exit status {done.returncode}')
    cases.judge(what, problems, done.stdout)


def look(cases, bench):
    """What the tools tell of the device."""
    expect(cases, 'ibv_devices', call(['ibv_devices'], bench.server()), 0,
           [r'^\s+uroce0\s+[0-9a-f]{16}$'])
    expect(cases, 'ibv_devinfo -v', call(['ibv_devinfo', '-v'], bench.server()), 0,
           [r'^hca_id:\s+uroce0$', r'transport:\s+InfiniBand \(0\)$', r'phys_port_cnt:\s+1$',
            r'state:\s+PORT_ACTIVE \(4\)$', r'active_mtu:\s+4096 \(5\)$',
            r'link_layer:\s+Ethernet$', rf'GID\[\s*0\]:\s+::ffff:{SERVER}, RoCE v2$'])
    expect(cases, 'ibv_devinfo -l', call(['ibv_devinfo', '-l'], bench.server()), 0,
           [r'^1 HCA found:$', r'^\s+uroce0$'])
    named = bench.server()
    named['UROCE_ARGS'] += ' --name mine'
    expect(cases, 'a device with a name', call(['ibv_devinfo', '-d', 'mine'], named), 0,
           [r'^hca_id:\s+mine$'])


def refuse(cases, what, environment, word):
    """ibv_devinfo cannot open the device; one line says why."""
    done = call(['ibv_devinfo'], environment)
    errors = errors_in(done.stdout)
    problems = []
    if done.returncode == 0 or 'Failed to open device' not in done.stdout:
        problems.append(f'exit status {done.returncode}')
    if len(errors) != 1 or word not in errors[0]:
        problems.append(f'not one line of the log with the word {word}')
    cases.judge(what, problems, done.stdout)


def go_wrong(cases, bench):
    """Errors of those who set the environment."""
    environment = bench.server()
    environment['UROCE_ARGS'] = environment['UROCE_ARGS'].replace('--port net_af_packet0',
                                                                  '--port net_af_packet7')
    refuse(cases, 'no such port', environment, 'net_af_packet7')
    refuse(cases, "the kernel's address", bench.environment('veth-s', TCP_SERVER, CPUS[0]),
           TCP_SERVER)
    refuse(cases, 'an argument that does not exist',
           dict(bench.server(), UROCE_ARGS='--bogus'), '--bogus')
    environment = bench.server()
    del environment['UROCE_ARGS']
    done = call(['ibv_devices'], environment)
    cases.judge('no device without UROCE_ARGS', ['uroce0'] if 'uroce' in done.stdout else [],
                done.stdout)


def without_engine(cases, bench):
    """The front alone, unless an engine is installed in the system."""
    if 'liburoce-engine' in run('ldconfig', '-p'):
        return
    environment = bench.server()
    del environment['LD_LIBRARY_PATH']
    refuse(cases, 'no engine library', environment, 'liburoce-engine.so.0')


def main(front, engine):
    bench = Bench(front, engine)
    cases = Cases('integ-preload')
    look(cases, bench)
    for row in PINGPONGS:
        pingpong(cases, bench, *row)
    bench.inline = True
    for row in INLINE:
        pingpong(cases, bench, *row)
    bench.inline = False
    without_gid(cases, bench)
    go_wrong(cases, bench)
    without_engine(cases, bench)
    bench.second.process.kill()
    return cases.end()


if __name__ == '__main__':
    enter(['ibv_rc_pingpong', 'ibv_srq_pingpong', 'ibv_devinfo', 'ibv_devices', 'ldd', 'ldconfig'])
    sys.exit(main(*sys.argv[1:3]))
