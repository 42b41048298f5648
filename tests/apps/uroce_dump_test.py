#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""uroce-dump as people run it: uroce_dump_test.py PROGRAM CAPTURES

Expected lines are typed by hand from what tshark and tcpdump show of the same packets.
"""
import glob
import os
import random
import struct
import subprocess
import sys
import tempfile

PROGRAM, CAPTURES = sys.argv[1:3]
CASES = []
SEND_EMPTY = """\
1 0.000000 02:00:00:00:99:02 > 02:00:00:00:99:03 10.99.0.2 > 10.99.0.3 tos=0x00 ttl=64 id=0xd93f \
total=44 udp=49513 RC SEND_ONLY qp=0x000013 psn=1048576 pkey=0xffff ack_req len=0 pad=0 icrc=ok
2 0.001851 02:00:00:00:99:03 > 02:00:00:00:99:02 10.99.0.3 > 10.99.0.2 tos=0x00 ttl=64 id=0x410b \
total=48 udp=49513 RC ACK qp=0x000013 psn=1048576 pkey=0xffff credits=none syndrome=0x1f msn=1 \
len=0 pad=0 icrc=ok
2 packets: 2 good, 0 bad, 0 not RoCE, 0 cut
"""
RNR_LINE = """\
2 0.000400 02:00:00:00:99:03 > 02:00:00:00:99:02 10.99.0.3 > 10.99.0.2 tos=0x00 ttl=64 id=0x494c \
total=48 udp=50241 RC ACK qp=0x000021 psn=1048576 pkey=0xffff RNR_NAK timer=12 (0.64 ms) \
syndrome=0x2c msn=0 len=0 pad=0 icrc=ok
"""
IPV6_LINE = """\
3 0.000051 02:00:00:00:99:02 > 02:00:00:00:99:03 fd99::2 > fd99::3 class=0x00 flow=0x00000 hops=64 \
total=976 udp=50308 RC SEND_LAST qp=0x000022 psn=1048578 pkey=0xffff ack_req len=952 pad=0 icrc=ok
"""
REJ_LINE = """\
2 0.003093 02:00:00:00:99:03 > 02:00:00:00:99:02 10.99.0.3 > 10.99.0.2 tos=0x00 ttl=64 id=0x59ae \
total=308 udp=55410 UD SEND_ONLY qp=0x000001 psn=8 pkey=0xffff ack_req qkey=0x80010000 \
source_qp=0x000001 len=256 pad=0 CM REJ tid=0x265d8e8fb local_id=0x00000000 remote_id=0xfbe8d865 \
of=REQ reason=8 (invalid service id) data= icrc=ok
"""


def case(function):
    CASES.append(function)
    return function


def dump(*arguments, **more):
    """Returns (exit status, standard output, standard error)."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=60, check=False,
                          **more)
    err = done.stderr.decode()
    assert done.returncode >= 0 and 'Sanitizer' not in err and 'runtime error' not in err, err
    return done.returncode, done.stdout.decode(), err


def dump_bytes(content, *arguments):
    with tempfile.NamedTemporaryFile(suffix='.pcap') as file:
        file.write(content)
        file.flush()
        return dump(*arguments, file.name)


def capture(name):
    return os.path.join(CAPTURES, name + '.pcap')


def content(name):
    with open(capture(name), 'rb') as file:
        return bytearray(file.read())


def same(got, want):
    assert got == want, f'\n got {got!r}\nwant {want!r}'


@case
def lines():
    same(dump(capture('rc-send-empty')), (0, SEND_EMPTY, ''))
    for name, line in (('rc-rnr', RNR_LINE), ('rc-send-ipv6', IPV6_LINE),
                       ('cm-rej-service', REJ_LINE)):
        status, out, _ = dump(capture(name))
        assert status == 0 and line in out, out


@case
def all_captures_are_good():
    packets = 0
    names = glob.glob(os.path.join(CAPTURES, '*.pcap'))
    for name in names:
        status, out, err = dump(name)
        same((status, err), (0, ''))
        *body, summary = out.splitlines()
        assert all(line.endswith(' icrc=ok') for line in body), out
        same(summary, f'{len(body)} packets: {len(body)} good, 0 bad, 0 not RoCE, 0 cut')
        packets += len(body)
    same((len(names), packets), (41, 594))


@case
def a_changed_byte_is_found():
    file = content('rc-send-empty')
    file[-5] ^= 0x01  # last byte of the ACK's MSN
    status, out, _ = dump_bytes(file)
    same(status, 1)
    assert 'msn=0 len=0 pad=0 icrc=BAD (0x14a1c40b, should be 0x' in out, out
    assert out.endswith('2 packets: 1 good, 1 bad, 0 not RoCE, 0 cut\n'), out


@case
def every_covered_byte_matters():
    """Each of the 62 bytes of the ACK's frame changed in turn."""
    file = content('rc-send-empty')
    start = len(file) - 62
    free = {*range(12), 40, 41, 46}  # MACs, UDP checksum, FECN and BECN: masked or not covered
    strangers = {12, 13, 36, 37}  # EtherType, UDP port: then it isn't RoCE
    for at in range(62):
        file[start + at] ^= 0x20
        status, out, _ = dump_bytes(file)
        file[start + at] ^= 0x20
        same((at, status), (at, 0 if at in free | strangers else 1))
        assert (' 1 not RoCE' in out) == (at in strangers), out


@case
def quiet():
    same(dump('-q', capture('rc-rnr')), (0, '16 packets: 16 good, 0 bad, 0 not RoCE, 0 cut\n', ''))
    file = content('rc-send-empty')
    file[-1] ^= 0xff
    status, out, _ = dump_bytes(file, '--quiet')
    same((status, len(out.splitlines())), (1, 2))
    assert out.startswith('2 0.001851 '), out


@case
def standard_input():
    with open(capture('rc-send-empty'), 'rb') as file:
        same(dump('-', stdin=file), (0, SEND_EMPTY, ''))


@case
def other_byte_order_and_nanoseconds():
    file = content('rc-send-empty')
    swapped = struct.pack('>IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 65535, 1)
    at = 24
    while at < len(file):
        seconds, micros, kept, whole = struct.unpack_from('<IIII', file, at)
        swapped += struct.pack('>IIII', seconds, micros * 1000 + 7 * (at > 24), kept, whole)
        swapped += file[at + 16:at + 16 + kept]
        at += 16 + kept
    status, out, _ = dump_bytes(swapped)
    want = SEND_EMPTY.replace('0.000000', '0.000000000').replace('0.001851', '0.001851007')
    same((status, out), (0, want))


@case
def time_may_go_back():
    file = content('rc-send-empty')
    first = struct.unpack_from('<I', file, 24)[0]
    struct.pack_into('<II', file, 24, first + 2, 0)
    _, out, _ = dump_bytes(file)
    assert '\n2 -' in out, out


@case
def other_packets():
    file = content('rc-send-empty')[:24]
    arp = bytes(12) + b'\x08\x06' + bytes(46)
    file += struct.pack('<IIII', 5, 0, len(arp), len(arp)) + arp
    same(dump_bytes(file), (0, '1 0.000000 00:00:00:00:00:00 > 00:00:00:00:00:00 type=0x0806 '
                            'not RoCE, 60 bytes\n'
                            '1 packets: 0 good, 0 bad, 1 not RoCE, 0 cut\n', ''))


@case
def cut_packets():
    file = content('rc-send-empty')[:24 + 16 + 50]
    struct.pack_into('<I', file, 24 + 8, 50)
    status, out, _ = dump_bytes(file)
    same(status, 1)
    assert out.endswith(' bad: runt, 50 bytes, cut: 50 of 58 bytes\n'
                        '1 packets: 0 good, 0 bad, 0 not RoCE, 1 cut\n'), out


@case
def empty_capture():
    same(dump_bytes(content('rc-send-empty')[:24]),
         (0, '0 packets: 0 good, 0 bad, 0 not RoCE, 0 cut\n', ''))


@case
def truncated_files():
    file = content('rc-send-empty')
    for length in range(len(file)):
        status, out, err = dump_bytes(file[:length])
        whole = length in (24, 24 + 16 + 58)
        same((length, status), (length, 0 if whole else 2))
        if length < 24:
            assert err.endswith('not a pcap file\n') and not out, err
        elif not whole:
            assert err.endswith('ends within a packet\n') and 'packets: ' in out, err


@case
def hostile_files():
    file = content('cm-private-data')
    dice = random.Random(1)
    for _ in range(300):
        hurt = bytearray(file)
        for _ in range(8):
            hurt[dice.randrange(len(hurt))] = dice.randrange(256)
        status, _, _ = dump_bytes(hurt)
        assert status in (0, 1, 2), status


@case
def refused_files():
    for bytes_, message in ((b'\x0a\x0d\x0d\x0a' + bytes(60), 'pcapng'),
                            (bytes(100), 'not a pcap file'),
                            (b'', 'not a pcap file'),
                            (content('rc-send')[:20] + struct.pack('<I', 113), 'Ethernet')):
        status, out, err = dump_bytes(bytes_)
        same((status, out), (2, ''))
        assert message in err, err
    status, out, err = dump('/nonexistent/file')
    same((status, out), (2, ''))
    assert 'No such file' in err, err
    status, out, err = dump(CAPTURES)
    same((status, out), (2, ''))
    assert 'Is a directory' in err, err


@case
def wrong_usage():
    for arguments in ((), ('a', 'b'), ('--nonsense',), ('-x', 'a')):
        status, out, err = dump(*arguments)
        same((status, out), (2, ''))
        assert 'usage: uroce-dump' in err, err


@case
def help_text():
    for option in ('-h', '--help'):
        status, out, err = dump(option)
        same((status, err), (0, ''))
        assert out.startswith('usage: uroce-dump'), out


@case
def full_disk():
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([PROGRAM, capture('rc-send')], stdout=full, stderr=subprocess.PIPE,
                              timeout=60, check=False)
    same(done.returncode, 2)
    assert b'No space left' in done.stderr, done.stderr


def main():
    failed = 0
    for function in CASES:
        try:
            function()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f'FAILED {function.__name__}: {error}')
            failed += 1
    print(f'uroce-dump: {len(CASES) - failed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
