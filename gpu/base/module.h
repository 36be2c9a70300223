/* Modules: parts of libgangway in separate shared libraries, because they need libraries that not
 * every machine or program has. */
#ifndef GW_GPU_MODULE_H
#define GW_GPU_MODULE_H

/* gw_module_open opens the module with the given file name and returns the result of dlopen, or
 * NULL with dlerror() set if the module was not found. It searches the folder of libgangway (or of
 * the program that contains it) and the lib/ folder beside it. Then it searches the folder of the
 * worker's program, because a program that was shipped to the worker comes without the modules.
 * Last it uses the search path of the dynamic loader. Any thread may call it. */
void *gw_module_open(const char *file);

#endif
