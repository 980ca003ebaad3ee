/* What the engine calls in C: compression and checksums of blocks. */
#ifndef QUARRY_H
#define QUARRY_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of these bytes. */
uint32_t quarry_checksum(const uint8_t *bytes, size_t length);

/* Both return the number of written bytes, 0 if the room is too small or the input is damaged. */
size_t quarry_compress(const uint8_t *input, size_t length, uint8_t *output, size_t room);
size_t quarry_decompress(const uint8_t *input, size_t length, uint8_t *output, size_t room);

#endif
