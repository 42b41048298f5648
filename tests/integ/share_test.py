#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ports that share the kernel's addresses (--address-mode kernel): share_test.py PEER [XDP_PROGRAM]

PEER is made of peer.c. Two hosts are network namespaces joined by a veth pair, and by another pair
through a third one that routes. On each interface run the kernel and an engine, with one address
for both; a tcpdump watches for what must never be seen, ICMP's "port unreachable".
"""
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

from namespace import Cases, Second, enter, errors_in, run

PATIENCE = 60
UNREACHABLE = 'icmp[icmptype] = icmp-unreach or (icmp6 and ip6[40] = 1)'
MAC = '02:00:00:00:{:02x}:{:02x}'


class Host:
    """A namespace, the own one or a second one."""

    def __init__(self, number, second=None):
        self.number, self.second = number, second
        self.run('ip', 'link', 'set', 'lo', 'up')

    def inside(self, words):
        return self.second.inside(words) if self.second else list(words)

    def run(self, *words):
        return run(*self.inside(words))

    def set(self, name, value):
        """A setting below /proc/sys/net, which shows the namespace's own."""
        self.run('sh', '-c', f'echo {value} >/proc/sys/net/{name}')


def join(a, link_a, b, link_b, mtu):
    """A veth pair; returns the MACs."""
    a.run('ip', 'link', 'add', link_a, 'mtu', str(mtu), 'type', 'veth', 'peer', 'name', link_b,
          'mtu', str(mtu))
    a.run('ip', 'link', 'set', link_b, 'netns', str(b.second.process.pid))
    for host, link in (a, link_a), (b, link_b):
        mac = MAC.format(host.number, ord(link[-1]))
        host.run('ip', 'link', 'set', link, 'address', mac)
        host.run('ip', 'link', 'set', link, 'up')


def add_address(host, link, address):
    nodad = ['nodad'] if ':' in address else []
    host.run('ip', 'address', 'add', address, 'dev', link, *nodad)


class Engine:
    """A peer program on an interface of a host."""

    def __init__(self, program, host, device, *arguments, wrap=()):
        words = [program, f'--vdev={device}', '--no-huge', '-m', '128', '--no-shconf', '--',
                 '--port', device.split(',')[0], '--address-mode', 'kernel', '--mbufs', '8191',
                 *arguments]
        self.process = subprocess.Popen(
            host.inside([*wrap, *words]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=dict(os.environ, UROCE_LOG='notice'))
        self.log = ''
        self.answer = self.read()

    def read(self):
        """One line; the program's end is an empty one."""
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            return 'no answer'
        return self.process.stdout.readline().strip()

    def ask(self, command):
        self.process.stdin.write(command + '\n')
        self.process.stdin.flush()
        return self.read()

    def eventually(self, command, wanted):
        """Asks again until the answer matches; returns problems."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = self.ask(command)
            if re.fullmatch(wanted, answer):
                return []
            time.sleep(0.05)
        return [f'{command}: {answer!r}, not {wanted!r}']

    def stop(self):
        """Problems."""
        try:
            _, log = self.process.communicate('quit\n', timeout=PATIENCE)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self.process.kill()
            _, log = self.process.communicate()
        self.log += log
        status = self.process.returncode
        return [f'it ended with {status}'] * (status != 0) + errors_in(self.log)


def connect(a, b, index_a=0, index_b=0):
    """Problems."""
    ends = [a.ask(f'open {index_a}'), b.ask(f'open {index_b}')]
    answers = [a.ask(ends[1].replace('qp', 'connect')), b.ask(ends[0].replace('qp', 'connect'))]
    return [] if answers == ['connected'] * 2 else [f'{ends} gave {answers}']


def traffic(a, b, count=20):
    """Both ways, in turn. Problems."""
    answers = [a.ask(f'traffic {count}'), b.ask(f'traffic {count}')]
    return [] if answers == ['done'] * 2 else [f'traffic: {answers}']


def expect(found, wanted):
    return [] if found == wanted else [f'{found!r}, not {wanted!r}']


class Watch:
    """tcpdump on an interface of a host."""

    def __init__(self, host, link, expression):
        self.process = subprocess.Popen(
            host.inside(['tcpdump', '--immediate-mode', '-l', '-e', '-n', '-i', link, expression]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stderr.readline()
        self.process.stderr.readline()  # "listening on"

    def stop(self):
        """The lines."""
        time.sleep(0.3)
        self.process.send_signal(signal.SIGINT)
        return [line for line in self.process.communicate()[0].splitlines() if line]


def ping(host, address, *options):
    return subprocess.Popen(host.inside(['ping', '-q', '-i', '0.02', '-c', '50', '-W', '2',
                                         *options, address]),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ping_problems(process):
    output = process.communicate()[0]
    return [] if ' 0% packet loss' in output else [output]


# ---- the cases, over a kind of device ----

class World:
    """Two hosts and a router; devices of one driver."""

    def __init__(self, cases, program, driver, options, mtu):
        self.cases, self.program, self.driver, self.options = cases, program, driver, options
        self.east, self.west = Host(1), Host(2, Second())
        self.router = Host(3, Second())
        join(self.east, 'e0', self.west, 'w0', mtu)
        join(self.east, 'e1', self.router, 'r1', mtu)
        join(self.west, 'w2', self.router, 'r2', mtu)
        for host, link, number in ((self.east, 'e0', '0.1'), (self.west, 'w0', '0.2'),
                                   (self.east, 'e1', '1.1'), (self.router, 'r1', '1.9'),
                                   (self.west, 'w2', '2.2'), (self.router, 'r2', '2.9')):
            add_address(host, link, f'10.77.{number}/24')
        add_address(self.east, 'e0', 'fd00::1/64')
        add_address(self.west, 'w0', 'fd00::2/64')
        self.router.set('ipv4/ip_forward', 1)
        self.east.run('ip', 'route', 'add', '10.77.2.0/24', 'via', '10.77.1.9')
        self.west.run('ip', 'route', 'add', '10.77.1.0/24', 'via', '10.77.2.9')

    def case(self, what, problems, *engines):
        """The engines' logs are shown when they have ended; here only what is known by now."""
        self.cases.judge(f'{self.driver}: {what}', problems,
                         '\n'.join(engine.log for engine in engines))

    def engine(self, host, link, *arguments, **options):
        return Engine(self.program, host, f'{self.driver}0,iface={link}{self.options}', *arguments,
                      **options)

    def close(self):
        for link in 'e0', 'e1':
            self.east.run('ip', 'link', 'del', link)
        for second in self.west.second, self.router.second:
            second.process.kill()
            second.process.wait()


def opened(world, *engines):
    for engine in engines:
        if not engine.answer.startswith('started'):
            engine.stop()
    world.case('the engines open', [engine.answer for engine in engines
                                    if engine.answer != 'started uroce0'], *engines)


def stopped(world, *engines):
    problems = [problem for engine in engines for problem in engine.stop()]
    world.case('the engines close', problems, *engines)


def shared_traffic(world, east, west):
    world.case('the GIDs are the kernel\'s', expect(east.ask('gids'),
                                                    'gids ::ffff:10.77.0.1 fd00::1'))
    pings = [ping(world.east, '10.77.0.2'), ping(world.west, 'fd00::1'),
             ping(world.west, '10.77.0.1', '-s', '1000')]
    world.case('connect over IPv4', connect(east, west))
    world.case('traffic', traffic(east, west, 200))
    world.case('connect over IPv6', connect(east, west, 1, 1))
    world.case('traffic', traffic(east, west, 200))
    for one in pings:
        world.case('the kernels ping each other meanwhile', ping_problems(one))


def address_comes_and_goes(world, east, west):
    while east.ask('event') != 'none':
        pass
    world.east.run('ip', 'address', 'del', '10.77.0.1/24', 'dev', 'e0')
    world.case('an address goes: event', east.eventually('event', 'event GID table change'))
    world.case('an address goes: its entry is empty', expect(east.ask('gids'), 'gids - fd00::1'))
    world.case('an address goes: traffic at another', traffic(east, west))
    add_address(world.east, 'e0', '10.77.0.1/24')
    world.case('it comes back: event', east.eventually('event', 'event GID table change'))
    world.case('it comes back: in its place',
               expect(east.ask('gids'), 'gids ::ffff:10.77.0.1 fd00::1'))
    world.case('it comes back: connect', connect(east, west))
    world.case('it comes back: traffic', traffic(east, west))


def frames_to(world, east, west, mac):
    """Of what the east sends, the last frames go to that MAC. XDP's pass by every tcpdump."""
    if world.driver == 'net_af_xdp':
        return traffic(east, west)
    watch = Watch(world.west, 'w0', 'udp port 4791 and src 10.77.0.1')
    problems = traffic(east, west)
    lines = watch.stop()
    if not lines or f'> {mac}' not in lines[-1]:
        problems.append(f'the last of {len(lines)} frames: {lines[-1:]}')
    return problems


def mac_changes(world, east, west):
    """The west's interface gets another MAC; the east's QP follows it."""
    def problems(mac):
        return east.eventually('counter mac_changes', str(before + 1)) + \
            frames_to(world, east, west, mac)

    before = int(east.ask('counter mac_changes'))
    world.west.run('ip', 'link', 'set', 'w0', 'address', '02:00:00:00:99:01')
    world.west.run('arping', '-q', '-A', '-c', '1', '-I', 'w0', '10.77.0.2')
    world.case('a MAC that changes and is announced', problems('02:00:00:00:99:01'))

    # Nobody tells, since the west's engine stands still: the east's kernel finds out by itself,
    # because the east's engine says what it uses.
    world.east.set('ipv4/neigh/e0/base_reachable_time_ms', 500)
    world.east.set('ipv4/neigh/e0/delay_first_probe_time', 1)
    before += 1
    west.process.send_signal(signal.SIGSTOP)
    world.west.run('ip', 'link', 'set', 'w0', 'address', '02:00:00:00:99:02')
    found = east.eventually('counter mac_changes', str(before + 1))
    west.process.send_signal(signal.SIGCONT)
    world.case('a MAC that changes in silence', found or problems('02:00:00:00:99:02'))

    # The east's engine stands still while the kernel tells more than it keeps for it.
    before += 1
    east.process.send_signal(signal.SIGSTOP)
    flood = ''.join(f'neigh replace 10.77.{i >> 8}.{i & 255} lladdr 02:00:00:00:98:00 nud '
                    'permanent dev e0\n' for i in range(4096, 8192))
    for mac in '98:00', '98:01', '98:02':  # each is news
        subprocess.run(['ip', '-batch', '-'], input=flood.replace('98:00', mac), text=True,
                       check=True)
    world.west.run('ip', 'link', 'set', 'w0', 'address', '02:00:00:00:99:03')
    world.east.run('ip', 'neigh', 'replace', '10.77.0.2', 'lladdr', '02:00:00:00:99:03', 'dev',
                   'e0', 'nud', 'reachable')
    east.process.send_signal(signal.SIGCONT)
    world.case('a MAC that changes while too much is told', problems('02:00:00:00:99:03'))


def control_unreachable(world):
    """The watch must see what it watches for: the next port is not held."""
    watch = Watch(world.east, 'e0', UNREACHABLE)
    for host, address in (world.west, '10.77.0.1'), (world.west, 'fd00::1'):
        host.run(sys.executable, '-c', 'import socket, sys; '
                 'a = socket.getaddrinfo(sys.argv[1], 4790, type=socket.SOCK_DGRAM)[0]; '
                 's = socket.socket(a[0], a[1]); s.sendto(b"x", a[4])', address)
    lines = watch.stop()
    world.case('the watch sees "port unreachable" for another port',
               expect(len(lines), 2) and lines)


def without_net_admin(world):
    """Without CAP_NET_ADMIN the kernel is made to resolve by a datagram. net_pcap needs none."""
    world.east.run('ip', 'neigh', 'flush', 'dev', 'e0')
    east = Engine(world.program, world.east, 'net_pcap0,iface=e0',
                  wrap=['setpriv', '--bounding-set', '-net_admin', '--'])
    west = world.engine(world.west, 'w0')
    opened(world, east, west)
    world.case('connect without CAP_NET_ADMIN', connect(east, west))
    world.case('traffic without CAP_NET_ADMIN', traffic(east, west))
    stopped(world, east, west)


def through_a_router(world):
    """A second engine on each host, on another interface, while the first ones run."""
    east, west = world.engine(world.east, 'e1'), world.engine(world.west, 'w2')
    opened(world, east, west)
    world.case('connect through a router', connect(east, west))
    watch = Watch(world.router, 'r1', 'udp port 4791')
    world.case('traffic through a router', traffic(east, west, 50))
    lines = watch.stop()
    router_mac = MAC.format(world.router.number, ord('1'))
    world.case('by the gateway\'s MAC', [] if f'> {router_mac}' in ''.join(lines) else lines[:3])
    # The way changes: by the direct link, which is another interface. That is no way for this QP.
    world.east.run('ip', 'route', 'replace', '10.77.2.0/24', 'via', '10.77.0.2')
    answers = [east.ask('open 0'), west.ask('open 0')]
    world.case('a route that leaves by another interface',
               expect(east.ask(answers[1].replace('qp', 'connect')), 'ENETUNREACH'))
    world.east.run('ip', 'route', 'replace', '10.77.2.0/24', 'via', '10.77.1.9')
    stopped(world, east, west)


def run_world(cases, program, driver, options, mtu):
    world = World(cases, program, driver, options, mtu)
    watches = [Watch(world.east, 'e0', UNREACHABLE), Watch(world.west, 'w0', UNREACHABLE)]
    east, west = world.engine(world.east, 'e0'), world.engine(world.west, 'w0')
    opened(world, east, west)
    shared_traffic(world, east, west)
    through_a_router(world)
    address_comes_and_goes(world, east, west)
    mac_changes(world, east, west)
    time.sleep(0.5)
    lines = [line for watch in watches for line in watch.stop()]
    world.case('no "port unreachable"', lines)
    control_unreachable(world)
    stopped(world, east, west)
    world.case('the log says that too much was told',
               [] if 'more changes than there was room for' in east.log else [east.log])
    if driver == 'net_af_packet':
        without_net_admin(world)
    world.close()


# ---- what is refused ----

def refused(cases, what, engine, error, word):
    engine.stop()
    problems = expect(engine.answer, error)
    if not any(word in line for line in errors_in(engine.log)):
        problems.append(f'no error in the log has {word!r}')
    cases.judge(f'{what}: {error}', problems, engine.log)


def refusals(cases, program):
    here = Host(1)
    here.run('ip', 'link', 'add', 'x0', 'mtu', '3000', 'type', 'veth', 'peer', 'name', 'x1')
    for link in 'x0', 'x1':
        here.run('ip', 'link', 'set', link, 'up')
    packet = 'net_af_packet0,iface=x0'
    refused(cases, 'no address', Engine(program, here, packet), 'EADDRNOTAVAIL', 'x0')
    add_address(here, 'x0', '10.78.0.1/24')
    refused(cases, 'another address', Engine(program, here, packet, '--address', '10.78.0.2/24'),
            'EADDRNOTAVAIL', '10.78.0.2')
    for kind, name in (socket.AF_INET, '10.78.0.1'), (socket.AF_INET, '0.0.0.0'):
        with socket.socket(kind, socket.SOCK_DGRAM) as holder:
            holder.bind((name, 4791))
            refused(cases, f'{name} port 4791 is taken', Engine(program, here, packet),
                    'EADDRINUSE', 'rdma_rxe')
    refused(cases, 'a gateway', Engine(program, here, packet, '--gateway', '10.78.0.9'), 'EINVAL',
            '--address-mode own')
    refused(cases, 'a VLAN', Engine(program, here, packet, '--address', '10.78.0.1/24@5'),
            'EINVAL', '--address-mode own')
    refused(cases, 'net_null', Engine(program, here, 'net_null0'), 'EINVAL', 'no interface')
    refused(cases, 'AF_XDP without the program', Engine(program, here, 'net_af_xdp0,iface=x0'),
            'EINVAL', 'roce_xdp.o')
    refused(cases, 'net_tap', Engine(program, here, 'net_tap0,iface=x2'), 'EINVAL',
            'net_af_packet')
    first = Engine(program, here, packet, '--address', '10.78.0.1/24')
    refused(cases, 'a second engine at the same address', Engine(program, here, packet),
            'EADDRINUSE', '10.78.0.1')
    add_address(here, 'x0', '10.78.0.3/24')
    second = Engine(program, here, packet, '--address', '10.78.0.3/24')
    cases.judge('a second engine at another address of the interface',
                expect(second.ask('gids'), 'gids ::ffff:10.78.0.3') +
                expect(first.ask('gids'), 'gids ::ffff:10.78.0.1') +
                first.stop() + second.stop(), first.log + second.log)
    here.run('ip', 'link', 'del', 'x0')


def main(program, xdp_program=None):
    cases = Cases('integ-share')
    refusals(cases, program)
    run_world(cases, program, 'net_af_packet', ',framesz=4096,blocksz=65536,framecnt=512', 1500)
    if xdp_program:
        run_world(cases, program, 'net_af_xdp', f',xdp_prog={xdp_program}', 1500)
    else:
        print('there is no XDP program: those cases are left out')
    return cases.end()


if __name__ == '__main__':
    enter(['tcpdump', 'ping', 'arping', 'setpriv'])
    sys.exit(main(*sys.argv[1:]))
