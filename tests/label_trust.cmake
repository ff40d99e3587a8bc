# SPDX-License-Identifier: Apache-2.0
# Read by ctest behind the discovered tests of a directory: those that a line of trust.txt finds
# carry the label `trust` beside their own. carillon_discovered: LABEL|NAME_OF_THE_LIST_OF_TESTS.
include("${CMAKE_CURRENT_LIST_DIR}/trust_expressions.cmake")
string(REGEX MATCH "^([^|]+)\\|(.+)$" found "${carillon_discovered}")
set(label "${CMAKE_MATCH_1}")
foreach(test ${${CMAKE_MATCH_2}})
  foreach(expression ${expressions})
    if(test MATCHES "${expression}")
      set_tests_properties("${test}" PROPERTIES LABELS "${label};trust")
    endif()
  endforeach()
endforeach()
