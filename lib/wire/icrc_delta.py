#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of icrc.h: how the CRC changes with one byte, N bytes before the end.

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


def delta(byte, following):
    """The CRC register after `byte` and `following` zero bytes, from an empty register."""
    register = byte
    for _ in range(8 * (1 + following)):
        register = register >> 1 ^ (POLYNOMIAL if register & 1 else 0)
    return register


def table(following):
    words = [f"0x{delta(byte, following):08x}" for byte in range(256)]
    lines = [", ".join(words[i : i + 6]) for i in range(0, 256, 6)]
    return "{{\n\t" + ",\n\t".join(lines) + "\n}}"


with open(sys.argv[1], "w", encoding="ascii") as output:
    output.write("/* Made by icrc_delta.py. */\n#include \"icrc.h\"\n")
    for name, following in TABLES:
        both = ", ".join(table(n) for n in following)
        output.write(f"\nconst struct icrc_delta icrc_delta_{name}[2] = {{{both}}};\n")
