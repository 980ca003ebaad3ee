/* Checksums of blocks: a table of 256 values, computed once. */
#include "quarry.h"

static uint32_t table[256];
static int ready;

static void fill_table(void)
{
    for (uint32_t number = 0; number < 256; number++) {
        uint32_t value = number;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
        table[number] = value;
    }
    ready = 1;
}

uint32_t quarry_checksum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = ~0u;
    if (!ready)
        fill_table();
    while (length--)
        sum = table[(sum ^ *bytes++) & 0xff] ^ sum >> 8;
    return ~sum;
}
