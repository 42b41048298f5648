#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of icrc.h: how the CRC changes with one byte, N bytes before the end, and which
change of the CRC N bytes before a byte is the same as a change of that byte.

    icrc_delta.py OUTPUT.c
"""
import sys

POLYNOMIAL = 0xEDB88320  # 0x04C11DB7, least significant bit first

UDP_PORTS = 4  # the seed ends behind them
IPV4 = UDP_PORTS + 20
IPV6 = UDP_PORTS + 40
TABLES = [  # name, how many bytes follow the high byte and the low byte of the length
    ("ipv4", [IPV4 - 2 - 1, IPV4 - 3 - 1]),
    ("ipv6", [IPV6 - 4 - 1, IPV6 - 5 - 1]),
]
CONGESTION = 8  # bytes of UDP and BTH between the seed's end and the byte with FECN and BECN


def delta(byte, following):
    """The CRC register after `byte` and `following` zero bytes, from an empty register."""
    register = byte
    for _ in range(8 * (1 + following)):
        register = register >> 1 ^ (POLYNOMIAL if register & 1 else 0)
    return register


def ahead(byte, preceding):
    """The register that becomes `byte` when `preceding` zero bytes follow: delta() backwards."""
    register = byte
    for _ in range(8 * preceding):
        odd = register >> 31  # only the polynomial has its highest bit set
        register = (register ^ (POLYNOMIAL if odd else 0)) << 1 & 0xFFFFFFFF | odd
    return register


def table(values):
    words = [f"0x{value:08x}" for value in values]
    lines = [", ".join(words[i : i + 6]) for i in range(0, 256, 6)]
    return "{{\n\t" + ",\n\t".join(lines) + "\n}}"


with open(sys.argv[1], "w", encoding="ascii") as output:
    output.write("/* Made by icrc_delta.py. */\n#include \"icrc.h\"\n")
    for name, following in TABLES:
        both = ", ".join(table(delta(byte, n) for byte in range(256)) for n in following)
        output.write(f"\nconst struct icrc_delta icrc_delta_{name}[2] = {{{both}}};\n")
    congestion = table(ahead(byte, CONGESTION) for byte in range(256))
    output.write(f"\nconst struct icrc_delta icrc_delta_congestion = {congestion};\n")
