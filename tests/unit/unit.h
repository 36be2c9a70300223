/* What every unit test includes first: cmocka, with the headers that it needs before it. */
#ifndef GW_TESTS_UNIT_H
#define GW_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
