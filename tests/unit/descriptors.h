/* That a test leaves as many descriptors open as there were before it. */
#ifndef GW_TESTS_DESCRIPTORS_H
#define GW_TESTS_DESCRIPTORS_H

/* count_descriptors counts those of this process. */
int count_descriptors(void);

/* descriptors_setup notes how many there are, and descriptors_teardown fails where that is not how
 * many there are then; for cmocka. */
int descriptors_setup(void **state);
int descriptors_teardown(void **state);
#define COUNTED(test) cmocka_unit_test_setup_teardown(test, descriptors_setup, descriptors_teardown)

#endif
