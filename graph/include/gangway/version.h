/* The version of these headers. gw_version (gangway.h) returns the version of the library that the
 * program uses when it runs. That version may be newer.
 *
 * While MAJOR is 0, the name of the shared library is libgangway.so.MAJOR.MINOR: a program can use
 * every PATCH of the MAJOR.MINOR with which it was built. */
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
