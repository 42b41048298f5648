/* SPDX-License-Identifier: BSD-3-Clause */
/* EAL's log lines as lines of ours, so that one level and one sink rule both. */
#ifndef UROCE_EAL_EAL_LOG_H
#define UROCE_EAL_EAL_LOG_H

/*
 * Before EAL is started. EAL keeps what this makes for the life of the process. Only for an EAL of
 * our own: in an adopted one the log is the application's. 0 or -ENOMEM.
 */
int eal_log_bridge(void);

#endif
