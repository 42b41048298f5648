/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports whose cores sleep until they are woken. */
#ifndef UROCE_TESTS_LOAD_PORT_H
#define UROCE_TESTS_LOAD_PORT_H

#include "port.h"

#define LOAD_QUEUES 2u

struct load_port {
	struct port *port;
	const struct port_ops *wire; /* what the end was */
	struct port_ops ops;
	int fd[LOAD_QUEUES];
	uint32_t armed[LOAD_QUEUES]; /* atomic */
};

/* The end, before its engine is made. 0 or -errno. */
int load_port_open(unsigned int number, struct port *port);
/* After it is gone. */
void load_port_close(unsigned int number);

#endif
