#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# front_symbols.sh FRONT ENGINE: a front links no DPDK, so its archive asks for no rte_ symbol
# (rte_ring's inline functions are all it uses). The engine's archive does ask for some, which shows
# that they would be found.
set -u

passed=0
failed=0

# rte_symbols ARCHIVE: undefined symbols of DPDK
rte_symbols() {
	nm -u "$1" 2>/dev/null | awk '$1 == "U" && $2 ~ /^_*(rte|per_lcore)_/ { print $2 }' | sort -u
}

# judge NAME CONDITION...
judge() {
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		echo "FAILED $name"
		failed=$((failed + 1))
	fi
}

judge "the front's archive is one" test "$(nm "$1" 2>/dev/null | grep -c ' T wq_reserve$')" -eq 1
judge "the front asks for no rte_ symbol: $(rte_symbols "$1" | tr '\n' ' ')" \
	test -z "$(rte_symbols "$1")"
judge "the engine asks for rte_ring_init" test "$(rte_symbols "$2" | grep -c '^rte_ring_init$')" -eq 1

echo "queue-front_symbols: $passed passed, $failed failed"
[ $failed -eq 0 ]
