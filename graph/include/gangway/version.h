/* The version of these headers. gw_version (gangway.h) returns the version of the library that the
 * program runs with, which may be newer.
 *
 * The shared library's name is libgangway.so.MAJOR.MINOR while MAJOR is 0: a program runs with
 * every PATCH of the version that it was built with. */
#ifndef GANGWAY_VERSION_H
#define GANGWAY_VERSION_H

#define GANGWAY_VERSION_MAJOR 0
#define GANGWAY_VERSION_MINOR 1
#define GANGWAY_VERSION_PATCH 0
#define GANGWAY_VERSION "0.1.0"

/* GANGWAY_VERSION_AT_LEAST(0, 2) is true if these headers are of version 0.2 or later. */
#define GANGWAY_VERSION_AT_LEAST(major, minor)                                                     \
    (GANGWAY_VERSION_MAJOR > (major) ||                                                            \
     (GANGWAY_VERSION_MAJOR == (major) && GANGWAY_VERSION_MINOR >= (minor)))

#endif
