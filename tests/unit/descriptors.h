/* Checks that a test leaves as many descriptors open as there were before it. */
#ifndef GW_TESTS_DESCRIPTORS_H
#define GW_TESTS_DESCRIPTORS_H

/* count_descriptors counts the descriptors of this process. */
int count_descriptors(void);

/* descriptors_setup stores the number of open descriptors, and descriptors_teardown fails if the
 * number has changed; for cmocka. */
int descriptors_setup(void **state);
int descriptors_teardown(void **state);
#define COUNTED(test) cmocka_unit_test_setup_teardown(test, descriptors_setup, descriptors_teardown)

#endif
