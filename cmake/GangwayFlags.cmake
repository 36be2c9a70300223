# Flags that hold for every target of the tree.
add_library(gangway_flags INTERFACE)
target_compile_definitions(gangway_flags INTERFACE _GNU_SOURCE)
target_compile_options(gangway_flags INTERFACE
  -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> -Wpointer-arith -Wcast-qual
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  # Calls of what nobody declared, and pointers to something else, stop every build.
  "$<$<COMPILE_LANGUAGE:C>:-Werror=implicit-function-declaration;-Werror=implicit-int>"
  "$<$<COMPILE_LANGUAGE:C>:-Werror=incompatible-pointer-types;-Werror=int-conversion>"
  -Wformat=2 -Wno-unused-parameter -Wvla -fno-common)
target_include_directories(gangway_flags INTERFACE
  ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/graph/include ${PROJECT_SOURCE_DIR}/gpu/include
  ${PROJECT_SOURCE_DIR}/worker/include ${PROJECT_SOURCE_DIR}/client/include)
if(GANGWAY_CHECK)
  target_compile_definitions(gangway_flags INTERFACE GANGWAY_CHECK=1)
endif()
if(GANGWAY_SANITIZE)
  target_compile_options(gangway_flags INTERFACE -fsanitize=${GANGWAY_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(gangway_flags INTERFACE -fsanitize=${GANGWAY_SANITIZE})
  # Two hundred programs of 6 MB each: the first of these linkers that is there takes half of the
  # time of the default one. What users get is linked by the default one.
  include(CheckLinkerFlag)
  foreach(linker lld mold gold)
    check_linker_flag(C -fuse-ld=${linker} GANGWAY_LINKS_BY_${linker})
    if(GANGWAY_LINKS_BY_${linker})
      target_link_options(gangway_flags INTERFACE -fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()
# Asserts stay in release builds: our own bug must stop, not go on.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

# gangway_objects(NAME FILES...): an object library of the tree.
function(gangway_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PUBLIC gangway_flags)
endfunction()

# gangway_limit(NAME S): how long a test may take, 300 s at least. It ends what hangs, and does not
# guess how fast a machine is.
function(gangway_limit name limit_s)
  if(NOT limit_s OR limit_s LESS 300)
    set(limit_s 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit_s})
endfunction()

# gangway_quarters(NAME N S): how much of the processor a test takes, in quarters of a core: ./check
# has ctest run as many at once as fit. One that computes has 4, one that mostly waits for a time
# limit has 1. Those, and then others that may take long (S), begin first, so that nothing waits for
# one of them at the end.
function(gangway_quarters name quarters limit_s)
  set(cost 0)
  if(limit_s)
    set(cost ${limit_s})
  endif()
  if(quarters EQUAL 1)
    math(EXPR cost "${cost} + 1000")
  endif()
  set_tests_properties(${name} PROPERTIES PROCESSORS ${quarters} COST ${cost})
endfunction()

# gangway_unit(NAME FILES... LINK TARGETS... [TIMEOUT S] [LABELS L...] [QUARTERS N]): a cmocka test
# program, registered with ctest. Tests that have threads carry the label `threads`; ThreadSanitizer
# sees no more in the others than the other builds do, so that they are not built for it.
function(gangway_unit name)
  cmake_parse_arguments(UNIT "" "TIMEOUT;QUARTERS" "LINK;LABELS" ${ARGN})
  add_executable(${name} ${UNIT_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE gangway_flags ${UNIT_LINK} PkgConfig::CMOCKA)
  if(GANGWAY_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST UNIT_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  gangway_limit(${name} "${UNIT_TIMEOUT}")
  if(NOT UNIT_QUARTERS)
    set(UNIT_QUARTERS 4)
  endif()
  gangway_quarters(${name} ${UNIT_QUARTERS} "${UNIT_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES LABELS "${UNIT_LABELS}")
endfunction()

# gangway_script(NAME FILE ARGS... [TIMEOUT S] [LABELS L...] [QUARTERS N]): a test that is a script.
# It finds the binary in GANGWAY_BINARY, the build folder in GANGWAY_BUILD, the sanitizers in
# GANGWAY_FLAVOUR, and skips itself by exit code 77.
function(gangway_script name file)
  cmake_parse_arguments(SCRIPT "" "TIMEOUT;QUARTERS" "LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${SCRIPT_UNPARSED_ARGUMENTS})
  if(NOT SCRIPT_QUARTERS)
    set(SCRIPT_QUARTERS 4)
  endif()
  if(NOT SCRIPT_TIMEOUT)
    set(SCRIPT_TIMEOUT 120)
  endif()
  gangway_limit(${name} ${SCRIPT_TIMEOUT})
  set(environment PYTHONDONTWRITEBYTECODE=1 GANGWAY_BUILD=${PROJECT_BINARY_DIR}
      GANGWAY_BINARY=${PROJECT_BINARY_DIR}/bin/gangway)
  if(GANGWAY_SANITIZE) # costs time, which tests of time must know
    list(APPEND environment GANGWAY_FLAVOUR=sanitize=${GANGWAY_SANITIZE})
  endif()
  gangway_quarters(${name} ${SCRIPT_QUARTERS} ${SCRIPT_TIMEOUT})
  set_tests_properties(${name} PROPERTIES LABELS "${SCRIPT_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
endfunction()
