/* Modules: parts of libgangway in files of their own, for they need libraries that not every
 * machine or program has. */
#ifndef GW_GPU_MODULE_H
#define GW_GPU_MODULE_H

/* gw_module_open opens the module of this name and gives what dlopen gives, NULL with dlerror() set
 * where there is none. It is looked for in the folder of libgangway (or of the program that holds
 * it) and in lib/ beside that; in those of the worker's own program, because a program that was
 * shipped there comes without what it had not loaded; then wherever the loader looks. Any thread.
 */
void *gw_module_open(const char *file);

#endif
