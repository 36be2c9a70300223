/* Files of cgroups of version 2. Needs nothing but the C library, since the launcher uses it. */
#ifndef GW_BASE_CGROUP_FILE_H
#define GW_BASE_CGROUP_FILE_H

/* gw_cgroup_file_put writes a text to the file `name` of a cgroup. Returns 0 or an errno. */
int gw_cgroup_file_put(const char *cgroup, const char *name, const char *text);

/* gw_cgroup_file_enable enables the controllers for the children of a cgroup, as far as it has
 * them. */
void gw_cgroup_file_enable(const char *cgroup);

#endif
