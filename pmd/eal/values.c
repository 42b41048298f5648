/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to values. strtoul(3) takes signs, blanks and octal, so digits are looked at first. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "values.h"

#define DIGITS_MAX 10u /* of a u32 */
#define LONG_DIGITS_MAX 19u

int value_number(const char *text, uint32_t low, uint32_t high, uint32_t *number)
{
	size_t length = strspn(text, "0123456789");
	unsigned long long value;

	if (length == 0 || length > DIGITS_MAX || text[length])
		return -EINVAL;
	value = strtoull(text, NULL, 10);
	if (value < low || value > high)
		return -EINVAL;
	*number = (uint32_t)value;
	return 0;
}

static bool is_pair(const char *text)
{
	return isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]);
}

int value_mac(const char *text, uint8_t mac[6])
{
	if (strlen(text) != 17)
		return -EINVAL;
	for (unsigned int i = 0; i < 6; i++, text += 3) {
		if (!is_pair(text) || (i < 5 && text[2] != ':'))
			return -EINVAL;
		mac[i] = (uint8_t)strtoul(text, NULL, 16);
	}
	return mac_is_unicast(mac) ? 0 : -EINVAL;
}

/* Takes "@VLAN" off the end of a copy, if it is there. */
static int cut_vlan(char *text, bool *has_vlan, uint16_t *vlan_id)
{
	char *at = strchr(text, '@');
	uint32_t vlan;

	*has_vlan = at != NULL;
	*vlan_id = 0;
	if (!at)
		return 0;
	*at = 0;
	if (value_number(at + 1, 1, VLAN_ID_MAX, &vlan))
		return -EINVAL;
	*vlan_id = (uint16_t)vlan;
	return 0;
}

#define TEXT_MAX 64u /* an IPv6 address, a prefix length and a VLAN are shorter */

static int copy(char text[TEXT_MAX], const char *from)
{
	size_t length = strlen(from);

	if (length >= TEXT_MAX)
		return -EINVAL;
	memcpy(text, from, length + 1);
	return 0;
}

/* "A/P", in a text that may be written to. */
static int take_prefix(char *text, uint8_t address[16], uint8_t *length)
{
	char *slash = strchr(text, '/');
	uint32_t number;

	if (!slash)
		return -EINVAL;
	*slash = 0;
	if (address_parse(address, text) ||
		value_number(slash + 1, 0, address_bits_max(address), &number))
		return -EINVAL;
	*length = (uint8_t)number;
	return 0;
}

int value_address(const char *text, struct port_gid *gid)
{
	char own[TEXT_MAX];

	memset(gid, 0, sizeof(*gid));
	if (copy(own, text) || cut_vlan(own, &gid->has_vlan, &gid->vlan_id))
		return -EINVAL;
	return take_prefix(own, gid->gid, &gid->prefix_length);
}

int value_gateway(const char *text, struct net_route *route)
{
	char own[TEXT_MAX];

	if (copy(own, text) || cut_vlan(own, &route->has_vlan, &route->vlan_id))
		return -EINVAL;
	return address_parse(route->gateway, own);
}

int value_prefix(const char *text, struct net_route *route)
{
	char own[TEXT_MAX];

	if (copy(own, text))
		return -EINVAL;
	return take_prefix(own, route->prefix, &route->prefix_length);
}

/* KEY=N with this key, N at least 1; at the end of the text or before a comma. */
static bool take_option(const char *option, const char *key, uint64_t *value)
{
	size_t length = strlen(key), digits;

	if (strncmp(option, key, length) != 0 || option[length] != '=')
		return false;
	option += length + 1;
	digits = strspn(option, "0123456789");
	if (digits == 0 || digits > LONG_DIGITS_MAX || (option[digits] && option[digits] != ','))
		return false;
	*value = strtoull(option, NULL, 10);
	return *value > 0;
}

int value_capture(const char *text, struct capture_config *capture)
{
	size_t length = strcspn(text, ",");
	uint64_t snaplen = UINT32_MAX;

	memset(capture, 0, sizeof(*capture));
	if (length == 0 || length >= sizeof(capture->file))
		return -EINVAL;
	memcpy(capture->file, text, length);
	for (text += length; *text; text += strcspn(text, ",")) {
		text++;
		if (!take_option(text, "snaplen", &snaplen) &&
			!take_option(text, "packets", &capture->packets) &&
			!take_option(text, "bytes", &capture->bytes))
			return -EINVAL;
	}
	if (snaplen > UINT32_MAX)
		return -EINVAL;
	capture->snaplen = (uint32_t)snaplen;
	return 0;
}

static int add_range(struct lcores *lcores, uint32_t first, uint32_t last)
{
	for (uint32_t id = first; id <= last; id++) {
		if (lcores->count == CORES_MAX || lcores_have(lcores, id))
			return -EINVAL;
		lcores->id[lcores->count++] = id;
	}
	return first <= last ? 0 : -EINVAL;
}

/* N or N-M, up to `length` characters of the text. */
static int take_range(struct lcores *lcores, const char *text, size_t length)
{
	char range[16], *dash;
	uint32_t first, last;

	if (length >= sizeof(range))
		return -EINVAL;
	memcpy(range, text, length);
	range[length] = '\0';
	dash = strchr(range, '-');
	if (dash)
		*dash = '\0';
	if (value_number(range, 0, LCORE_MAX, &first) ||
		value_number(dash ? dash + 1 : range, 0, LCORE_MAX, &last))
		return -EINVAL;
	return add_range(lcores, first, last);
}

int value_lcores(const char *text, struct lcores *lcores)
{
	int err = 0;

	lcores->count = 0;
	while (!err) {
		size_t length = strcspn(text, ",");

		err = take_range(lcores, text, length);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	return err;
}
