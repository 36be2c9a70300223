/* Every unit test includes this first: cmocka, and the headers that it needs before it. */
#ifndef GW_TESTS_UNIT_H
#define GW_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
