/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One row an argument: its name, what it takes, how it is taken, its line of help. A new argument
 * is a new row and a function.
 */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "address.h"
#include "arguments.h"
#include "log.h"
#include "serve.h"
#include "values.h"

/* What a row's function is given: the value, and the words that follow it. */
struct given {
	const char *value;
	int argc;
	char *const *argv;
	int *next; /* index of the word behind the value; moved on by who takes it */
};

/* 0 or -EINVAL. */
typedef int take_fn(struct arguments *arguments, const struct given *given);

struct row {
	const char *name;
	const char *takes; /* NULL: no value */
	take_fn *take;
	const char *help;
};

static int take_text(char *field, size_t size, const char *value)
{
	size_t length = strlen(value);

	if (length == 0 || length >= size)
		return -EINVAL;
	memcpy(field, value, length + 1);
	return 0;
}

static int take_help(struct arguments *arguments, const struct given *given)
{
	arguments->help = true;
	return 0;
}

static int take_port(struct arguments *arguments, const struct given *given)
{
	return take_text(arguments->port.device, sizeof(arguments->port.device), given->value);
}

static int take_address(struct arguments *arguments, const struct given *given)
{
	struct net_config *network = &arguments->port.network;

	if (network->address_count == PORT_GIDS_MAX)
		return -EINVAL;
	return value_address(given->value, &network->addresses[network->address_count++]);
}

static int take_address_mode(struct arguments *arguments, const struct given *given)
{
	if (strcmp(given->value, "own") == 0)
		arguments->port.address_mode = ADDRESS_OWN;
	else if (strcmp(given->value, "kernel") == 0)
		arguments->port.address_mode = ADDRESS_KERNEL;
	else
		return -EINVAL;
	return 0;
}

static int take_link_local(struct arguments *arguments, const struct given *given)
{
	arguments->port.network.link_local = true;
	return 0;
}

static struct net_route *new_route(struct arguments *arguments)
{
	struct net_config *network = &arguments->port.network;

	if (network->route_count == NET_ROUTES_MAX)
		return NULL;
	return &network->routes[network->route_count++];
}

/* The default route of the gateway's family. */
static int take_gateway(struct arguments *arguments, const struct given *given)
{
	struct net_route *route = new_route(arguments);
	static const uint8_t zero[4];

	if (!route || value_gateway(given->value, route))
		return -EINVAL;
	if (address_is_ipv4(route->gateway))
		address_from_ipv4(route->prefix, zero);
	else
		memcpy(route->prefix, address_unspecified, sizeof(route->prefix));
	route->prefix_length = 0;
	return 0;
}

/* `P via A`, as three words. */
static int take_route(struct arguments *arguments, const struct given *given)
{
	struct net_route *route = new_route(arguments);
	int next = *given->next;

	if (!route || value_prefix(given->value, route) || next + 1 >= given->argc ||
		strcmp(given->argv[next], "via") != 0)
		return -EINVAL;
	*given->next = next + 2;
	return value_gateway(given->argv[next + 1], route);
}

static int take_mtu(struct arguments *arguments, const struct given *given)
{
	return value_number(given->value, 576, 65535, &arguments->port.mtu);
}

static int take_mac(struct arguments *arguments, const struct given *given)
{
	arguments->port.has_mac = true;
	return value_mac(given->value, arguments->port.mac);
}

static int take_mbufs(struct arguments *arguments, const struct given *given)
{
	return value_number(given->value, 256, 1u << 24, &arguments->port.mbufs);
}

static int take_name(struct arguments *arguments, const struct given *given)
{
	if (strchr(given->value, '/'))
		return -EINVAL;
	return take_text(arguments->name, sizeof(arguments->name), given->value);
}

static int take_mode(struct arguments *arguments, const struct given *given)
{
	if (strcmp(given->value, "inline") == 0)
		arguments->mode = ENGINE_INLINE;
	else if (strcmp(given->value, "dedicated") == 0)
		arguments->mode = ENGINE_DEDICATED;
	else if (strcmp(given->value, "mixed") == 0)
		arguments->mode = ENGINE_MIXED;
	else
		return -EINVAL;
	return 0;
}

static int take_lcore(struct arguments *arguments, const struct given *given)
{
	return value_lcores(given->value, &arguments->lcores);
}

static int take_cores(struct arguments *arguments, const struct given *given)
{
	return value_number(given->value, 1, CORES_MAX, &arguments->cores);
}

static int take_sleep(struct arguments *arguments, const struct given *given)
{
	uint32_t us;

	if (strcmp(given->value, "never") == 0) {
		arguments->idle = SERVE_NEVER;
		return 0;
	}
	if (value_number(given->value, 0, 1000000, &us))
		return -EINVAL;
	arguments->idle = us * 1000ull;
	return 0;
}

static int take_progress(struct arguments *arguments, const struct given *given)
{
	bool off = strcmp(given->value, "off") == 0;

	arguments->progress = !off;
	return off || strcmp(given->value, "on") == 0 ? 0 : -EINVAL;
}

static int take_max_qp(struct arguments *arguments, const struct given *given)
{
	return value_number(given->value, 1, 1u << 20, &arguments->max_qp);
}

static int take_max_mr(struct arguments *arguments, const struct given *given)
{
	return value_number(given->value, 1, 1u << 20, &arguments->max_mr);
}

static int take_capture(struct arguments *arguments, const struct given *given)
{
	return value_capture(given->value, &arguments->port.capture);
}

static const struct row rows[] = {
	{"port", "NAME|ID", take_port, "DPDK port to use (needed)"},
	{"address", "A/P[@VLAN]", take_address,
		"own IPv4 or IPv6 address and prefix length; up to 16 times"},
	{"address-mode", "own|kernel", take_address_mode,
		"whose the addresses are: the port's own, or the kernel's (own)"},
	{"link-local", NULL, take_link_local, "add the IPv6 link-local address of the MAC"},
	{"gateway", "A[@VLAN]", take_gateway, "default gateway of its family"},
	{"route", "P via A[@VLAN]", take_route, "route to a prefix A/P; up to 64 times"},
	{"mtu", "N", take_mtu, "bytes of layer 3 in a frame, 576 to 65535 (the port's)"},
	{"mac", "XX:XX:XX:XX:XX:XX", take_mac, "own MAC address (the port's)"},
	{"mbufs", "N", take_mbufs, "packet buffers, 256 to 16777216 (as many as the queues need)"},
	{"mode", "inline|dedicated|mixed", take_mode,
		"who drives the engine: polls, cores, or both (inline)"},
	{"cores", "N", take_cores,
		"cores of the engine, 1 to 16, each with a queue (1, or one an lcore)"},
	{"lcore", "N[,N-M...]", take_lcore,
		"dedicated, mixed: EAL lcores of the engine's cores, each once"},
	{"sleep", "never|US", take_sleep,
		"dedicated: idle microseconds until a core sleeps, to 1000000 (never)"},
	{"progress", "on|off", take_progress,
		"inline: a thread drives the engine while the application doesn't (on)"},
	{"name", "NAME", take_name, "name of the device (the first free of uroce0, uroce1, ...)"},
	{"max-qp", "N", take_max_qp, "queue pairs, 1 to 1048576"},
	{"max-mr", "N", take_max_mr, "memory regions, 1 to 1048576"},
	{"capture", "FILE[,OPTION=N...]", take_capture,
		"packets into FILE (pcapng); snaplen=N, packets=N, bytes=N limit it"},
	{"help", NULL, take_help, "this text"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

void arguments_help(FILE *out, const char *program)
{
	fprintf(out,
		"usage: %s [EAL ARGUMENT...] -- --port NAME|ID --address A/P [ARGUMENT...]\n\n",
		program);
	for (unsigned int i = 0; i < ROWS; i++) {
		const char *takes = rows[i].takes ? rows[i].takes : "";

		fprintf(out, "  --%s%s%-*s %s\n", rows[i].name, *takes ? " " : "",
			26 - (int)(strlen(rows[i].name) + (*takes ? 1 : 0)), takes, rows[i].help);
	}
	fprintf(out, "\nA is an address, A/P one with its prefix length, VLAN an id, 1 to 4094.\n");
}

/* getopt's variables are the process's, and the application has its own use for them. */
struct getopt_state {
	int optind, opterr, optopt;
	char *optarg;
};

static void save(struct getopt_state *state)
{
	*state = (struct getopt_state){optind, opterr, optopt, optarg};
	optind = 0; /* glibc: begin anew */
	opterr = 0; /* the messages are ours */
}

static void restore(const struct getopt_state *state)
{
	optind = state->optind;
	opterr = state->opterr;
	optopt = state->optopt;
	optarg = state->optarg;
}

static int complain(const struct row *row, const char *value)
{
	if (row->takes)
		log_error("--%s '%s' is wrong: it takes %s: %s", row->name, value, row->takes,
			row->help);
	else
		log_error("--%s is wrong: %s", row->name, row->help);
	return -EINVAL;
}

static int complain_unknown(int choice, char *const argv[])
{
	if (choice == ':')
		log_error("%s lacks its value (--help lists the arguments)", argv[optind - 1]);
	else if (optopt) /* a short one; optind may still stand on its word */
		log_error("-%c is no argument of ours; EAL's go before --", optopt);
	else
		log_error("%s is no argument of ours (--help lists them); EAL's go before --",
			argv[optind - 1]);
	return -EINVAL;
}

static int take(struct arguments *arguments, const struct row *row, int argc, char *const argv[])
{
	struct given given = {optarg, argc, argv, &optind};

	return row->take(arguments, &given) ? complain(row, optarg) : 0;
}

static int parse_rows(struct arguments *arguments, int argc, char *const argv[])
{
	struct option options[ROWS + 1];
	int err = 0, choice, index;

	memset(options, 0, sizeof(options));
	for (unsigned int i = 0; i < ROWS; i++) {
		options[i].name = rows[i].name;
		options[i].has_arg = rows[i].takes ? required_argument : no_argument;
	}
	/* '+': stop at a word that is none; ':': say which value is missing. */
	while (!err && !arguments->help &&
		(choice = getopt_long(argc, argv, "+:", options, &index)) != -1) {
		if (choice == 0)
			err = take(arguments, &rows[index], argc, argv);
		else
			err = complain_unknown(choice, argv);
	}
	if (!err && !arguments->help && optind < argc) {
		log_error("%s is not expected here (--help lists the arguments)", argv[optind]);
		err = -EINVAL;
	}
	return err;
}

static bool has_vlans(const struct net_config *network)
{
	for (uint16_t i = 0; i < network->address_count; i++)
		if (network->addresses[i].has_vlan)
			return true;
	return false;
}

/* Where the addresses are the kernel's, so is what belongs to them. */
static const char *wrong_sharing(const struct ethdev_config *port)
{
	if (port->network.route_count)
		return "--gateway and --route go with --address-mode own: the kernel has its own";
	if (port->has_mac)
		return "--mac goes with --address-mode own: the kernel has its own";
	if (has_vlans(&port->network))
		return "--address A/P@VLAN goes with --address-mode own";
	return NULL;
}

static const char *wrong_addresses(const struct ethdev_config *port)
{
	if (port->address_mode == ADDRESS_KERNEL)
		return wrong_sharing(port);
	if (port->network.address_count == 0 && !port->network.link_local)
		return "the port has no address: give it one with --address A/P, or share the "
		       "kernel's with --address-mode kernel";
	return NULL;
}

static const char *wrong_mode(const struct arguments *arguments)
{
	uint32_t lcores = arguments->lcores.count;

	if (arguments->mode == ENGINE_INLINE && arguments->idle != SERVE_NEVER)
		return "--sleep goes with --mode dedicated or mixed: inline, the progress thread "
		       "sleeps anyway";
	if (arguments->mode == ENGINE_INLINE && lcores)
		return "--lcore goes with --mode dedicated or mixed";
	if (arguments->mode != ENGINE_INLINE && !lcores)
		return "--mode dedicated or mixed needs a core: name it with --lcore N";
	if (arguments->mode == ENGINE_DEDICATED && arguments->cores && arguments->cores != lcores)
		return "--mode dedicated has a core for each of --lcore: leave out --cores, or "
		       "take --mode mixed";
	if (arguments->mode == ENGINE_MIXED && arguments->cores <= lcores)
		return "--mode mixed has more --cores than --lcore names";
	return NULL;
}

/* What only shows when all is read. */
static int check(const struct arguments *arguments)
{
	const char *wrong = wrong_addresses(&arguments->port);

	if (!*arguments->port.device)
		wrong = "there is no port: name one with --port NAME";
	else if (!wrong)
		wrong = wrong_mode(arguments);
	if (!wrong)
		return 0;
	log_error("%s", wrong);
	return -EINVAL;
}

/* What follows from other arguments. A queue that no core reads would swallow what RSS sends to it,
 * so there are as many as cores. */
static void complete(struct arguments *arguments)
{
	if (!arguments->cores && arguments->mode != ENGINE_MIXED)
		arguments->cores = arguments->lcores.count ? arguments->lcores.count : 1;
	arguments->port.queues = (uint16_t)arguments->cores;
}

int arguments_parse(struct arguments *arguments, int argc, char *const argv[])
{
	struct getopt_state state;
	int err;

	memset(arguments, 0, sizeof(*arguments));
	arguments->mode = ENGINE_INLINE;
	arguments->idle = SERVE_NEVER;
	arguments->progress = true;
	save(&state);
	err = parse_rows(arguments, argc, argv);
	restore(&state);
	if (err || arguments->help)
		return err;
	complete(arguments);
	err = check(arguments);
	return err;
}
