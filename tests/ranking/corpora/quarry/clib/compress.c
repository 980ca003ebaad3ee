/* A small compressor: runs of bytes that occurred before are written as distance and length. */
#include <string.h>

#include "quarry.h"

#define WINDOW 4096
#define SHORTEST_MATCH 4

static size_t longest_match(const uint8_t *input, size_t at, size_t length, size_t *distance)
{
    size_t best = 0;
    size_t first = at > WINDOW ? at - WINDOW : 0;
    for (size_t start = first; start < at; start++) {
        size_t count = 0;
        while (at + count < length && count < 255 && input[start + count] == input[at + count])
            count++;
        if (count > best) {
            best = count;
            *distance = at - start;
        }
    }
    return best;
}

size_t quarry_compress(const uint8_t *input, size_t length, uint8_t *output, size_t room)
{
    size_t written = 0;
    for (size_t at = 0; at < length;) {
        size_t distance = 0;
        size_t match = longest_match(input, at, length, &distance);
        if (written + 4 > room)
            return 0;
        if (match >= SHORTEST_MATCH) {
            output[written++] = 1;
            output[written++] = (uint8_t)(distance & 0xff);
            output[written++] = (uint8_t)(distance >> 8);
            output[written++] = (uint8_t)match;
            at += match;
        } else {
            output[written++] = 0;
            output[written++] = input[at++];
        }
    }
    return written;
}

size_t quarry_decompress(const uint8_t *input, size_t length, uint8_t *output, size_t room)
{
    size_t written = 0;
    for (size_t at = 0; at < length;) {
        if (input[at++] == 0) {
            if (at >= length || written >= room)
                return 0;
            output[written++] = input[at++];
            continue;
        }
        if (at + 3 > length)
            return 0;
        size_t distance = input[at] | (size_t)input[at + 1] << 8;
        size_t count = input[at + 2];
        if (distance == 0 || distance > written || written + count > room)
            return 0;
        for (; count; count--, written++)
            output[written] = output[written - distance];
        at += 3;
    }
    return written;
}
