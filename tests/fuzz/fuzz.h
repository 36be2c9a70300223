/* What a fuzz target gives, for libFuzzer (LLVMFuzzerTestOneInput alone) and for driver.c. */
#ifndef GW_TESTS_FUZZ_H
#define GW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* LLVMFuzzerTestOneInput decodes the input every way that a peer could have it decoded, and aborts
 * where something that must hold does not. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* gw_fuzz_seed writes valid input number i (at most `room` bytes); its size, or 0 behind the last.
 */
size_t gw_fuzz_seed(uint32_t i, uint8_t *data, size_t room);

#endif
