#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A port of ours on one end of a veth pair, the kernel on the other: kernel_test.sh PROGRAM, with
# the program made from kernel_port.c. Everything happens in network and process namespaces of its
# own, which end with this script, however it ends. Needs root; otherwise it is skipped (77).
set -u

skip() {
	echo "skipped: $*"
	exit 77
}

if [ "${2-}" != inside ]; then
	[ "$(id -u)" -eq 0 ] || skip "needs root, to make network namespaces"
	for tool in ip ping arping unshare nsenter; do
		command -v "$tool" >/dev/null || skip "there is no $tool"
	done
	unshare --net --pid --fork --mount-proc true 2>/dev/null ||
		skip "namespaces cannot be made here"
	exec unshare --net --pid --fork --kill-child --mount-proc -- bash "$0" "$1" inside
fi

program=$1
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

our_mac=02:00:00:00:77:02
kernel_mac=02:00:00:00:77:01

# check WHAT COMMAND...: one case.
check() {
	local what=$1 output
	shift

	if output=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok     $what"
	else
		failed=$((failed + 1))
		echo "FAILED $what"
		printf '%s\n' "$output" | tail -n 5 | sed 's/^/       /'
		tail -n 5 "$log" | sed 's/^/       log: /'
	fi
}

# The kernel's end is in a namespace of its own, so that each frame has one reader.
unshare --net sleep 600 &
kernel_pid=$!
until [ "$(readlink /proc/$kernel_pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
	sleep 0.05
done

kernel() {
	nsenter --target "$kernel_pid" --net "$@"
}

ip link add ours mtu 4200 type veth peer name theirs mtu 4200 || skip "there is no veth here"
ip link set ours address "$our_mac"
ip link set theirs netns "$kernel_pid"
kernel ip link set theirs address "$kernel_mac"
ip link set lo up
ip link set ours up
kernel ip link set theirs up
vlan=yes
if ! kernel ip link add link theirs name theirs.5 type vlan id 5 2>/dev/null; then
	vlan=
	echo "this kernel has no VLAN devices: those cases are left out"
fi
kernel ip address add 10.77.0.1/24 dev theirs
kernel ip address add fd00::1/64 dev theirs nodad
if [ "$vlan" ]; then
	kernel ip link set theirs.5 up
	kernel ip address add 10.88.0.1/24 dev theirs.5
fi

vdev=net_af_packet0,iface=ours
frames=framesz=8192,blocksz=65536,framecnt=256

# start_port VDEV ARGUMENT...: the answer of the program is in $answer.
start_port() {
	local device=$1
	shift

	coproc PORT { exec "$program" --vdev="$device" -m 128 --no-huge --no-shconf -- \
		--port net_af_packet0 "$@" 2>>"$log"; }
	# shellcheck disable=SC2153 # coproc sets it
	port_pid=$PORT_PID
	in=${PORT[1]}
	out=${PORT[0]}
	read -r -t 20 answer <&"$out"
}

# ask COMMAND: the answer is in $answer.
ask() {
	answer=
	echo "$*" >&"$in"
	read -r -t 20 answer <&"$out"
}

# Not by check(): the shell waits for its own children only. A case: the program must end well.
stop_port() {
	local status

	{ echo quit >&"$in"; } 2>/dev/null
	wait "$port_pid" 2>/dev/null
	status=$?
	check "the port closes" [ "$status" -eq 0 ]
}

answer_is() {
	ask "$2"
	echo "$2: $answer"
	# shellcheck disable=SC2053 # a pattern
	[[ $answer == $1 ]]
}

opens() {
	echo "$answer"
	[ "$answer" = open ]
}

# refused ERROR VDEV ARGUMENT...: the program must end with the error.
refused() {
	local expected=$1 found device=$2
	shift 2

	found=$("$program" --vdev="$device" -m 128 --no-huge --no-shconf -- \
		--port net_af_packet0 "$@" 2>>"$log" </dev/null)
	echo "$found"
	[ "$found" = "open $expected" ]
}

neighbour_is() {
	local entry
	entry=$(kernel ip neighbour show "$1")
	echo "$entry"
	[[ $entry == *"lladdr $2"* ]]
}

eventually() {
	local output

	for _ in $(seq 200); do
		output=$("$@") && return
		sleep 0.1
	done
	echo "$output"
	return 1
}

arping_finds_conflict() { # arping -D: status 1 if somebody answers
	kernel arping -D -q -c 2 -w 2 -I theirs 10.77.0.2
	[ $? -eq 1 ]
}

# The attempt takes 3 solicitations, 1 s apart; a busy machine adds to that.
unreachable_in_time() {
	local begin=$SECONDS

	answer_is "neighbour EHOSTUNREACH" "resolve 10.77.0.2 10.77.0.99" || return 1
	[ $((SECONDS - begin)) -ge 2 ] && [ $((SECONDS - begin)) -le 15 ]
}

moves() { # the kernel's end gets another MAC, and says so
	answer_is "mac $kernel_mac" "resolve 10.77.0.2 10.77.0.1" || return 1
	sleep 1.1 # a MAC that has just been set stays for a second
	kernel ip link set theirs address 02:00:00:00:77:11
	kernel arping -q -A -c 1 -I theirs 10.77.0.1
	eventually answer_is "mac 02:00:00:00:77:11" "resolve 10.77.0.2 10.77.0.1"
}

logged() {
	grep -q "$1" "$log"
}

addresses=(--address 10.77.0.2/24 --address fd00::2/64 --address 10.88.0.2/24@5)

start_port "$vdev,$frames" "${addresses[@]}" --gateway 10.77.0.1 --route 10.99.0.0/16 via 10.77.0.98
check "the port opens" opens
check "MAC and MTU are the interface's" \
	answer_is "net_af_packet0 mac $our_mac mtu 4200 up epoch *" info
check "ping" kernel ping -q -c 3 -i 0.2 -W 2 10.77.0.2
check "ping with 4000 bytes" kernel ping -q -c 3 -i 0.2 -W 2 -M 'do' -s 4000 10.77.0.2
check "ping with a packet of 4200 bytes" kernel ping -q -c 3 -i 0.2 -W 2 -M 'do' -s 4172 10.77.0.2
check "ping with 1 byte" kernel ping -q -c 3 -i 0.2 -W 2 -s 1 10.77.0.2
check "ping over IPv6" kernel ping -q -c 3 -i 0.2 -W 2 fd00::2
check "ping over IPv6, a packet of 4200 bytes" kernel ping -q -c 3 -i 0.2 -W 2 -M 'do' -s 4152 fd00::2
check "arping" kernel arping -q -c 2 -w 5 -I theirs 10.77.0.2
check "arping finds a duplicate" arping_finds_conflict
check "the kernel's ARP entry has our MAC" neighbour_is 10.77.0.2 "$our_mac"
check "the kernel's ND entry has our MAC" neighbour_is fd00::2 "$our_mac"
if [ "$vlan" ]; then
	check "ping on VLAN 5" kernel ping -q -c 3 -i 0.2 -W 2 10.88.0.2
	check "ping on VLAN 5, a packet of 4200 bytes" \
		kernel ping -q -c 3 -i 0.2 -W 2 -M 'do' -s 4172 10.88.0.2
	check "a neighbour on VLAN 5" answer_is "mac $kernel_mac" "resolve 10.88.0.2 10.88.0.1"
	check "VLAN 5's address is not answered without the tag" \
		bash -c "! nsenter --target $kernel_pid --net arping -q -c 1 -w 1 -I theirs 10.88.0.2"
fi
check "the kernel's address is resolved" answer_is "mac $kernel_mac" "resolve 10.77.0.2 10.77.0.1"
check "the kernel's IPv6 address is resolved" answer_is "mac $kernel_mac" "resolve fd00::2 fd00::1"
check "the gateway's MAC for another network" answer_is "mac $kernel_mac" "resolve 10.77.0.2 192.0.2.1"
check "an own address" answer_is "mac $our_mac" "resolve 10.77.0.2 10.77.0.2"
check "no route" answer_is "route ENETUNREACH" "resolve fd00::2 fd99::1"
check "nobody there: EHOSTUNREACH after 3 s" unreachable_in_time
check "and a line in the log" logged "neighbour 10.77.0.99 is unreachable"
check "the kernel's MAC changes" moves
check "counters" answer_is "arp_in * unreachable 1 *" counters
kernel ip link set theirs down
check "link down" eventually answer_is "* down epoch *" info
kernel ip link set theirs up
check "link up" eventually answer_is "* up epoch *" info
kernel ip link set theirs address "$kernel_mac"
check "the port opens a second time" answer_is "open 0" reopen
check "ping after that" kernel ping -q -c 3 -i 0.2 -W 2 10.77.0.2
stop_port

# The kernel's entry for us exists; our announcement with another MAC replaces it, unasked.
start_port "$vdev,$frames" --address 10.77.0.2/24 --mac 02:00:00:00:77:22
check "a MAC of our own" opens
check "the announcement replaces the kernel's entry" \
	eventually neighbour_is 10.77.0.2 02:00:00:00:77:22
check "ping to that MAC" kernel ping -q -c 3 -i 0.2 -W 2 10.77.0.2
stop_port
check "the interface keeps its MAC" bash -c "ip link show ours | grep -q $our_mac"

# Small slots limit the MTU; so do they what one may ask for.
start_port "$vdev" --address 10.77.0.2/24
check "slots of 2048 bytes: MTU 1968" answer_is "* mtu 1968 *" info
check "the log says what to do" logged "give it framesz=8192,blocksz=65536"
check "the announcement brings the interface's MAC back" \
	eventually neighbour_is 10.77.0.2 "$our_mac"
check "ping with a packet of 1968 bytes" kernel ping -q -c 3 -i 0.2 -W 2 -M 'do' -s 1940 10.77.0.2
stop_port
check "an MTU above the interface's is refused" \
	refused EINVAL "$vdev,$frames" --address 10.77.0.2/24 --mtu 4201
start_port "$vdev,$frames" --address 10.77.0.2/24 --mtu 1500
check "an MTU below the interface's is taken" answer_is "* mtu 1500 *" info
stop_port

# An address that the kernel has, on that interface or on another one.
ip address add 10.77.0.50/24 dev ours
ip address add fd00::50/64 dev lo nodad
check "the kernel's address is refused" refused EADDRINUSE "$vdev,$frames" --address 10.77.0.50/24
check "the log names address and interface" logged "address 10.77.0.50 is the kernel's (on ours)"
check "on another interface too" refused EADDRINUSE "$vdev,$frames" --address fd00::50/64
check "a device that is not there" refused ENODEV net_ring0 --address 10.77.0.2/24

# A switch that passes a group's frames on to its listeners only: it must learn of ours.
if kernel ip link add watcher type bridge mcast_snooping 1 2>/dev/null; then
	kernel ip link set theirs master watcher
	kernel ip link set watcher up
	start_port "$vdev,$frames" --address fd00::2/64
	check "a bridge learns that we listen to our group" eventually bash -c \
		"nsenter --target $kernel_pid --net bridge mdb show | grep 'theirs grp ff02::1:ff00:2'"
	stop_port
else
	echo "this kernel has no bridges: that case is left out"
fi

kill "$kernel_pid"
wait "$kernel_pid" 2>/dev/null
echo "ethdev-kernel: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
