# Takes an installation back: cmake -DPREFIX=DIR [-DBUILD=build/release] -P cmake/uninstall.cmake
#
# What there is to remove is what this build would install, and not its install_manifest.txt, which
# the tests' installations overwrite.
cmake_minimum_required(VERSION 3.20)

if(NOT PREFIX)
  message(FATAL_ERROR "where is it installed? cmake -DPREFIX=/usr/local -P cmake/uninstall.cmake")
endif()
if(NOT BUILD)
  set(BUILD ${CMAKE_CURRENT_LIST_DIR}/../build/release)
endif()
get_filename_component(PREFIX ${PREFIX} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
get_filename_component(BUILD ${BUILD} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
if(NOT EXISTS ${BUILD}/cmake_install.cmake)
  message(FATAL_ERROR "${BUILD} is no build of Gangway: -DBUILD=DIR names one")
endif()

string(RANDOM LENGTH 12 name)
set(copy ${BUILD}/uninstall-${name})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${copy}
                RESULT_VARIABLE failed OUTPUT_QUIET)
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${copy} ${copy}/*)
file(REMOVE_RECURSE ${copy})
if(failed)
  message(FATAL_ERROR "${BUILD} cannot say what it installs: build it first")
endif()

set(count 0)
set(folders "")
foreach(file ${files})
  get_filename_component(folder ${file} DIRECTORY)
  list(APPEND folders ${folder})
  if(EXISTS ${PREFIX}/${file} OR IS_SYMLINK ${PREFIX}/${file})
    file(REMOVE ${PREFIX}/${file})
    math(EXPR count "${count} + 1")
  endif()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "no Gangway is installed in ${PREFIX}")
endif()

# Folders that are Gangway's own, the inner ones first; a file in them that is not of this version
# stays, and is named.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder ${folders})
  if(NOT folder MATCHES "/gangway(/|$)")
    continue()
  endif()
  file(GLOB left ${PREFIX}/${folder}/*)
  if(left)
    message(WARNING "of another version, and left there: ${left}")
  else()
    file(REMOVE_RECURSE ${PREFIX}/${folder})
  endif()
endforeach()
message(STATUS "removed ${count} files from ${PREFIX}")
