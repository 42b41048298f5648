#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The project's rules that a compiler does not check: rules.py [CASE]

A rule looks at one file, or at the list of all files, and returns what is wrong as (place,
message). Each has samples it must refuse and samples it must accept: a rule that cannot fail is a
defect. The last line is `rules: N passed, N failed`; a rule and its samples are a case each.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNTESTED = 'tests/rules/untested.txt'
LICENCE = 'SPDX-License-Identifier: BSD-3-Clause'
CORE = ('lib/base/', 'lib/wire/', 'lib/mem/', 'lib/rc/', 'lib/ud/', 'lib/cm/')
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

RULES = []


class Rule:
    """One rule: check(path, text), or check(files) with files a dict of path to text."""

    def __init__(self, name, check, whole_tree, refuses, accepts):
        self.name = name
        self.check = check
        self.whole_tree = whole_tree
        self.refuses = refuses
        self.accepts = accepts

    def run(self, files):
        if self.whole_tree:
            return list(self.check(files))
        return [found for path, text in sorted(files.items()) for found in self.check(path, text)]

    def samples(self):
        """Returns the samples that it judges wrongly."""
        wrong = [f'accepts {sample}' for sample in self.refuses if not self.run(sample)]
        return wrong + [f'refuses {sample}' for sample in self.accepts if self.run(sample)]


def rule(refuses, accepts=(), whole_tree=False):
    """A decorator; a sample is a dict of path to text."""

    def add(check):
        RULES.append(Rule(check.__name__, check, whole_tree, refuses, accepts))
        return check

    return add


def numbered(text):
    return enumerate(text.splitlines(), 1)


def includes(text):
    for number, line in numbered(text):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1]


def is_c(path):
    return path.endswith(('.c', '.h'))


def is_source(path):
    return is_c(path) or path.endswith(('.py', '.sh', 'meson.build', 'meson_options.txt')) or \
        path in ('dev', '.ci/run')


@rule(refuses=[{'lib/base/a.c': 'int a;\n'},
               {'a.py': '#!/usr/bin/python3\nimport os\n'},
               {'lib/base/a.h': '\n\n\n/* SPDX-License-Identifier: BSD-3-Clause */\n'},
               {'dev': '#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0\n'}],
      accepts=[{'lib/base/a.c': '/* SPDX-License-Identifier: BSD-3-Clause */\nint a;\n'},
               {'dev': '#!/bin/bash\n# SPDX-License-Identifier: BSD-3-Clause\n'},
               {'README.md': 'uroce\n'}])
def licence_line(path, text):
    """Every source file says its licence in its first line, or in the second after `#!`."""
    lines = (text.splitlines() + ['', ''])[:2]
    if is_source(path) and LICENCE not in lines[lines[0].startswith('#!')]:
        yield f'{path}:1', f'no line "{LICENCE}"'


@rule(refuses=[{'lib/rc/a.c': '#include "../wire/parse.h"\n'},
               {'apps/a.c': '# include <../x.h>\n'},
               {'lib/rc/a.c': '#include "wire/../parse.h"\n'}],
      accepts=[{'lib/rc/a.c': '#include "parse.h"\n/* ../ */\n'}])
def no_upward_include(path, text):
    """Headers are found through the folder's list in meson.build, which is the architecture."""
    for number, name in includes(text) if is_c(path) else ():
        if '..' in name.split('/'):
            yield f'{path}:{number}', f'include of {name}'


@rule(refuses=[{'lib/rc/a.c': '#include <rte_mbuf.h>\n'},
               {'lib/wire/a.h': '#include <infiniband/driver.h>\n'},
               {'lib/cm/a.c': '#include <sys/socket.h>\n'},
               {'lib/mem/a.c': '#include <netinet/in.h>\n'},
               {'lib/base/a.c': '#include <time.h>\n'},
               {'lib/ud/a.c': 'int f(void)\n{\n\tclock_gettime(0, &t);\n}\n'}],
      accepts=[{'lib/rc/a.c': '#include <infiniband/verbs.h>\n#include "timer.h"\n'},
               {'pmd/ethdev/a.c': '#include <rte_mbuf.h>\n'},
               {'lib/engine/a.c': '#include <time.h>\n'}])
def core_is_pure(path, text):
    """The protocol core has no DPDK, no sockets, no provider header and no clock."""
    if not (path.startswith(CORE) and is_c(path)):
        return
    for number, name in includes(text):
        if re.match(r'rte_|net/|netinet/|arpa/|rdma/', name) or name in (
                'infiniband/driver.h', 'sys/socket.h', 'time.h', 'sys/time.h', 'sys/timerfd.h'):
            yield f'{path}:{number}', f'the core includes {name}'
    for number, line in numbered(text):
        if re.search(r'\b(clock_gettime|gettimeofday|nanosleep|usleep|__rdtsc|rte_\w+)\s*\(', line):
            yield f'{path}:{number}', 'the core reads a clock, sleeps, or calls DPDK'


@rule(refuses=[{'lib/engine/a.c': '#include <rte_ethdev.h>\n'},
               {'lib/queue/a.c': '#include <rte_mbuf.h>\n'},
               {'lib/verbs/a.c': '#include <rte_ring.h>\n'},
               {'include/uroce/a.h': '#include <rte_ring.h>\n'}],
      accepts=[{'lib/queue/a.c': '#include <rte_ring.h>\n#include <rte_ring_elem.h>\n'},
               {'pmd/eal/a.c': '#include <rte_eal.h>\n'}])
def dpdk_has_one_door(path, text):
    """DPDK is behind pmd/; in lib/ there is rte_ring alone, in lib/queue."""
    if not (path.startswith(('lib/', 'include/')) and is_c(path)):
        return
    for number, name in includes(text):
        ring = path.startswith('lib/queue/') and name.startswith('rte_ring')
        if name.startswith('rte_') and not ring:
            yield f'{path}:{number}', f'include of {name}'


# In pieces, so that this file does not refuse itself.
UNFINISHED = re.compile('|'.join([
    r'\b' + 'TO' + r'DO\b', r'\b' + 'FIX' + r'ME\b', r'\b' + 'XX' + r'X\b', r'\b' + 'HA' + r'CK\b',
    r'\bfor ' + r'now\b', 'place' + 'holder', r'\bnot (yet )?' + 'implemented']))


@rule(refuses=[{'lib/rc/a.c': '/* TO' 'DO: this */\n'},
               {'docs/a.md': 'This is FIX' 'ME.\n'},
               {'dev': '# not ' 'implemented\n'},
               {'a.h': '/* good enough for ' 'now */\n'}],
      accepts=[{'lib/rc/a.c': '/* for nowhere, to do with MAXXXX */\n'}])
def nothing_unfinished(path, text):
    """What is in the tree is finished, and what is not is an issue."""
    for number, line in numbered(text):
        if UNFINISHED.search(line):
            yield f'{path}:{number}', line.strip()


@rule(refuses=[{'lib/rc/a.c': '\n' * 601}, {'pmd/ethdev/a.c': '\n' * 601},
               {'apps/demo/a.c': '\n' * 601}],
      accepts=[{'lib/rc/a.c': '\n' * 600}, {'tests/unit/rc/a_test.c': '\n' * 601},
               {'lib/rc/a.h': '\n' * 601}])
def no_giant_file(path, text):
    """A file is split by role before it grows: 150 to 350 lines read well, 600 is the end."""
    if path.endswith('.c') and path.startswith(('lib/', 'pmd/', 'apps/')):
        lines = text.count('\n')
        if lines > 600:
            yield path, f'{lines} lines'


@rule(refuses=[{'lib/rc/a.h': 'typedef struct a a_t;\n'},
               {'apps/a.c': 'typedef struct {\n\tint x;\n} a;\n'},
               {'include/uroce/a.h': '  typedef union u u;\n'}],
      accepts=[{'lib/rc/a.h': 'typedef void fn(struct a *);\nstruct a;\n'}])
def no_typedef_of_structs(path, text):
    """A struct is called by its tag."""
    for number, line in numbered(text) if is_c(path) else ():
        if re.match(r'\s*typedef\s+(const\s+)?(struct|union)\s+\w*\s*[\w{*]', line) and \
                '(' not in line:
            yield f'{path}:{number}', line.strip()


def untested(text):
    """The list of files without a unit test: {path: (line number, reason)}."""
    entries = {}
    for number, line in numbered(text):
        if line.strip() and not line.startswith('#'):
            path, _, reason = line.partition(':')
            entries[path.strip()] = (number, reason.strip())
    return entries


@rule(refuses=[{'lib/rc/a.c': '', UNTESTED: ''},
               {'lib/rc/a.c': '', 'tests/unit/mem/a_test.c': '', UNTESTED: ''},
               {'lib/rc/a.c': '', UNTESTED: 'lib/rc/a.c:\n'},
               {UNTESTED: 'lib/rc/gone.c: a reason\n'},
               {'lib/rc/a.c': '', 'tests/unit/rc/a_test.c': '', UNTESTED: 'lib/rc/a.c: why\n'}],
      accepts=[{'lib/rc/a.c': '', 'tests/unit/rc/a_test.c': '', UNTESTED: ''},
               {'lib/rc/a.c': '', UNTESTED: '# list\nlib/rc/a.c: tested by b_test.c\n'},
               {'pmd/eal/a.c': '', UNTESTED: ''}],
      whole_tree=True)
def every_module_is_tested(files):
    """lib/FOLDER/NAME.c has tests/unit/FOLDER/NAME_test.c, or a reason in the list."""
    excused = untested(files.get(UNTESTED, ''))
    for path in sorted(files):
        match = re.fullmatch(r'lib/(\w+)/(\w+)\.c', path)
        test = match and f'tests/unit/{match[1]}/{match[2]}_test.c'
        if not match:
            continue
        if test not in files and path not in excused:
            yield path, f'no {test}, and no reason in {UNTESTED}'
        if test in files and path in excused:
            yield f'{UNTESTED}:{excused[path][0]}', f'{path} has a test now'
    for path, (number, reason) in sorted(excused.items()):
        if path not in files:
            yield f'{UNTESTED}:{number}', f'there is no {path}'
        if not reason:
            yield f'{UNTESTED}:{number}', 'no reason'


PUBLIC = re.compile(r'^(?!\s|#|\*|/|return\b|typedef\b)[\w\s*]*?\buroce_\w+\s*\(')


@rule(refuses=[{'include/uroce/a.h': 'int uroce_qp_arm(struct ibv_qp *qp);\n'},
               {'include/uroce/a.h': '/* Arms. */\nint uroce_a(void);\nint uroce_b(void);\n'},
               {'include/uroce/a.h': '/* Arms. */\n\nint uroce_a(void);\n'},
               {'include/uroce/a.h': 'static inline struct a *uroce_a(void)\n{\n}\n'}],
      accepts=[{'include/uroce/a.h': '/* Arms. */\nint uroce_a(void);\n'},
               {'include/uroce/a.h': '/*\n * Arms.\n */\nUROCE_API\nint uroce_a(int b,\n\tint c);\n'},
               {'include/uroce/a.h': '#define UROCE_A(x) uroce_a(x)\nstruct uroce_a {\n};\n'},
               {'lib/rc/a.h': 'int uroce_a(void);\n'}])
def public_functions_are_explained(path, text):
    """Every public function has a comment right above it."""
    if not (path.startswith('include/uroce/') and path.endswith('.h')):
        return
    lines = text.splitlines()
    for number, line in numbered(text):
        if not PUBLIC.match(line):
            continue
        above = number - 2
        while above >= 0 and re.fullmatch(r'[A-Z_]+(\(.*\))?|__attribute__.*|static inline.*',
                                          lines[above]):
            above -= 1
        if above < 0 or not lines[above].rstrip().endswith('*/'):
            yield f'{path}:{number}', f'no comment above: {line.strip()}'


@rule(refuses=[{'lib/rc/a.c': 'int a;'}, {'dev': 'a \n'}, {'docs/a.md': 'a\r\n'},
               {'lib/rc/a.c': 'int a;\n\n'}],
      accepts=[{'lib/rc/a.c': 'int a;\n'}, {'docs/empty.md': ''}])
def clean_lines(path, text):
    """Lines end in one newline, without blanks before it; so does the file."""
    for number, line in enumerate(text.split('\n'), 1):
        if line != line.rstrip():
            yield f'{path}:{number}', 'blanks or a carriage return at the end of the line'
    if text and (not text.endswith('\n') or text.endswith('\n\n')):
        yield path, 'does not end in one newline'


CONTRACT = 'docs/early-posts.md'
UNIT_CASE = re.compile(r'\bUNIT_CASE\((\w+)\)')
CITED = re.compile(r'`([\w/]+_test\.c):(\w+\*?)`((?:, `\w+`)*)')


def cited(text):
    """(line number, file as the text calls it, case) for `file:case`, `case`, `case`."""
    for number, line in numbered(text):
        for match in CITED.finditer(line):
            for case in [match[2]] + re.findall(r'\w+', match[3]):
                yield number, match[1], case


@rule(refuses=[{CONTRACT: '`rc/a_test.c:ep_01_b`\n', 'tests/unit/rc/a_test.c': ''},
               {CONTRACT: '`rc/a_test.c:ep_02_*`\n',
                'tests/unit/rc/a_test.c': '\tUNIT_CASE(ep_01_a),\n'},
               {CONTRACT: '`rc/a_test.c:a`, `b`\n', 'tests/unit/rc/a_test.c': '\tUNIT_CASE(a),\n'},
               {CONTRACT: '`ep_01_gone`\n'},
               {CONTRACT: '', 'tests/unit/rc/a_test.c': '\tUNIT_CASE(ep_01_a),\n'}],
      accepts=[{CONTRACT: '`rc/a_test.c:ep_01_*`, `b`; `ep_01_a`\n',
                'tests/unit/rc/a_test.c': '\tUNIT_CASE(ep_01_a),\n\tUNIT_CASE(b),\n'},
               {CONTRACT: '`integ/a_test.c:b`\n',
                'tests/integ/a_test.c': '\tUNIT_CASE(b),\n'},
               {CONTRACT: '`rc/a_test.c:ep_05_*`, of which `ep_05_a`\n',
                'tests/unit/rc/a_test.c': '\tUNIT_CASE(ep_05_a),\n'}],
      whole_tree=True)
def contract_names_its_tests(files):
    """The contract's page cites cases that exist, and every case named after a rule."""
    text = files.get(CONTRACT, '')
    cases = {path: UNIT_CASE.findall(files[path]) for path in files if path.endswith('_test.c')}
    named = {case for path in cases for case in cases[path] if re.match(r'ep_\d\d_', case)}
    for number, path, case in cited(text):
        have = cases.get(f'tests/unit/{path}', cases.get(f'tests/{path}', []))
        if not any(one.startswith(case[:-1]) if case.endswith('*') else one == case
                   for one in have):
            yield f'{CONTRACT}:{number}', f'{path} has no case {case}'
    listed_cases = set(re.findall(r'`(ep_\d\d_\w+)`', text))
    for case in sorted(listed_cases - named):
        yield CONTRACT, f'there is no case {case}'
    for path in sorted(cases):
        for case in sorted(set(cases[path]) & named - listed_cases):
            yield CONTRACT, f'{case} of {path} is not named'


COUNTERS_PAGE = 'docs/counters.md'
COUNTERS_SOURCE = 'lib/verbs/counters.c'


@rule(refuses=[{COUNTERS_PAGE: '', COUNTERS_SOURCE: 'x_names[] = {"sent_pkts"};\n'},
               {COUNTERS_PAGE: '| `sent_pkts` | packets | |\n',
                COUNTERS_SOURCE: 'x_names[] = {"sent_pkts"};\n'},
               {COUNTERS_PAGE: '| `a` | packets | one |\n| `gone` | packets | one |\n',
                COUNTERS_SOURCE: 'x_names[] = {"a"};\n'},
               {COUNTERS_PAGE: '| `a` | packets | one |\n| `a` | packets | one |\n',
                COUNTERS_SOURCE: 'x_names[] = {"a"};\n'}],
      accepts=[{COUNTERS_PAGE: '| `a` | packets | one |\n| `b` | bytes | two |\n',
                COUNTERS_SOURCE: 'x_names[] = {"a",\n\t"b"};\n'}],
      whole_tree=True)
def counters_are_explained(files):
    """Every counter's name has one row in docs/counters.md, with a unit and what makes it move."""
    lists = re.findall(r'_names\[\] = \{([^}]*)\}', files.get(COUNTERS_SOURCE, ''))
    names = re.findall(r'"(\w+)"', ' '.join(lists))
    rows = re.findall(r'^\| `(\w+)` \| \w[^|]* \| [^|]*\w[^|]* \|$',
                      files.get(COUNTERS_PAGE, ''), re.MULTILINE)
    for name in names:
        if rows.count(name) != 1:
            yield COUNTERS_PAGE, f'{rows.count(name)} rows explain {name}'
    for name in sorted(set(rows) - set(names)):
        yield COUNTERS_PAGE, f'there is no counter {name}'


def listed():
    """What git has or would add; in an unpacked archive everything."""
    try:
        out = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others',
                              '--exclude-standard'], capture_output=True, check=True, text=True)
        return [path for path in out.stdout.split('\0') if path]
    except (OSError, subprocess.CalledProcessError):
        pass
    paths = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name != '.git' and not name.startswith('build')]
        paths += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return paths


def tree():
    """Path to text, of every file that is text."""
    files = {}
    for path in listed():
        try:
            with open(os.path.join(ROOT, path), encoding='utf-8', newline='') as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            continue  # removed but not yet committed, a submodule, or a binary file
        if '\0' not in text:
            files[path] = text
    return files


def report(name, problems):
    print(f'{"ok    " if not problems else "FAILED"} {name}')
    for problem in problems:
        print(f'    {problem}')
    return bool(problems)


def main(only):
    files = tree()
    results = []
    for one in RULES:
        if only in (None, one.name):
            results.append(report(one.name, [f'{place}: {message}'
                                             for place, message in one.run(files)]))
        if only in (None, one.name + ' samples'):
            results.append(report(one.name + ' samples', one.samples()))
    if only is None:  # the rules must have had something to look at
        results.append(report('tree is read', [] if 'meson.build' in files and
                              'lib/base/hash.c' in files else [f'{len(files)} files in {ROOT}']))
    failed = sum(results)
    print(f'rules: {len(results) - failed} passed, {failed} failed')
    return failed != 0 or not results


if __name__ == '__main__':
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
