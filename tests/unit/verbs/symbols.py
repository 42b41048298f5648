#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What liburoce exports and needs: symbols.py LIBRARY NM READELF [REAL]

REAL is the installed libibverbs, found if it isn't given; without one its part is skipped.
"""
import glob
import re
import subprocess
import sys

# Functions of libibverbs that take none of our objects: they stay the installed library's.
OTHERS = set('''
    ibv_copy_ah_attr_from_kern ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern
    ibv_copy_qp_attr_from_kern ibv_dofork_range ibv_dontfork_range ibv_event_type_str ibv_fork_init
    ibv_get_sysfs_path ibv_is_fork_initialized ibv_node_type_str ibv_port_state_str
    ibv_rate_to_mbps ibv_rate_to_mult ibv_read_sysfs_file ibv_wc_status_str mbps_to_ibv_rate
    mult_to_ibv_rate'''.split())

results = []


def check(name, wrong):
    results.append(bool(wrong))
    print(f'{"FAILED" if wrong else "ok    "} {name}' + (f': {wrong}' if wrong else ''))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def defined(nm, library):
    """{name: version} of default versions."""
    found = {}
    for line in run(nm, '-D', '--defined-only', '--with-symbol-versions', library).splitlines():
        match = re.match(r'\S+ [TWDBVR] (\w+)@@(\S+)$', line)
        if match:
            found[match[1]] = match[2]
    return found


def main(library, nm, readelf, real=None):
    ours = defined(nm, library)
    check('something is exported', [] if len(ours) > 50 else sorted(ours))
    undefined = run(nm, '-D', '--undefined-only', library).split()
    check('no DPDK', [name for name in undefined if re.match(r'(__)?rte_', name)])
    check('no libibverbs', [name for name in undefined if name.startswith('ibv_')])
    needed = re.findall(r'NEEDED.*\[(.*)\]', run(readelf, '-d', library))
    check('needs libc alone', [name for name in needed if not re.match(
        r'lib(c|pthread|dl|asan|ubsan|tsan|gcc_s|clang_rt.*|m|rt|stdc\+\+)\.so|ld-linux', name)])
    check('soname', [] if '[liburoce.so.0]' in run(readelf, '-d', library) else ['no liburoce.so.0'])
    check('extensions have a node of their own',
          [name for name, node in ours.items() if name.startswith('uroce_') != (node == 'UROCE_0')])
    check('one private symbol', [name for name, node in ours.items() if 'PRIVATE' in node
                                 and name != 'ibv_query_gid_type'])
    real = real or next(iter(glob.glob('/usr/lib/*/libibverbs.so.1') +
                             glob.glob('/usr/lib*/libibverbs.so.1')), None)
    if real:
        theirs = defined(nm, real)
        public = {name: node for name, node in theirs.items() if 'PRIVATE' not in node}
        check('the real library is read', [] if len(public) > 50 else [real])
        check('every function that takes our objects is ours',
              sorted(set(public) - set(ours) - OTHERS))
        check('versions are the real library\'s',
              [name for name, node in ours.items() if name.startswith(('ibv_', '_ibv_'))
               and theirs.get(name) != node])
        check('what is left to it is there', sorted(OTHERS - set(public)))
    print(f'verbs-symbols: {len(results) - sum(results)} passed, {sum(results)} failed')
    return any(results)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
