/* The agent of a separate user: it carries out operations on files for the worker. */
#ifndef GW_STORE_FILES_AGENT_H
#define GW_STORE_FILES_AGENT_H

/* gw_files_agent_main is the main function of `gangway files`. It serves graph/base/files.h on
 * descriptor 3, with the rights of the user as whom it was started, until the worker closes it. */
int gw_files_agent_main(int argc, char **argv);

#endif
