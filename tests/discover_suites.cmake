# SPDX-License-Identifier: Apache-2.0
# Writes ctest entries of a GoogleTest program, one for each of its suites. To be run by cmake -P:
# PROGRAM, FILTER (of GoogleTest), LABEL, PROPERTIES (of each entry) and FILE, where they go. A suite
# with a test that a line of trust.txt finds carries the label `trust`, too.
execute_process(COMMAND "${PROGRAM}" --gtest_list_tests "--gtest_filter=${FILTER}"
                TIMEOUT 60 OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)

# How the output of a suite ends of which nothing ran and nothing failed.
set(all_were_skipped [[\[  PASSED  \] 0 tests\.
(\[  SKIPPED \][^
]*
)+$]])
set(entries "")
set(tests "")

include("${CMAKE_CURRENT_LIST_DIR}/trust_expressions.cmake")

# Adds the entry of `suite` with `tests`.
macro(add_suite)
  if(tests)
    list(LENGTH tests count)
    list(JOIN tests ":" names)
    string(APPEND entries "add_test([==[${LABEL}.${suite}]==] [==[${PROGRAM}]==]\n"
                          "  [==[--gtest_filter=${names}]==])\n"
                          "set_tests_properties([==[${LABEL}.${suite}]==] PROPERTIES\n"
                          "  COST ${count} SKIP_REGULAR_EXPRESSION [==[${all_were_skipped}]==]\n")
    foreach(property ${PROPERTIES})
      string(APPEND entries "  [==[${property}]==]")
    endforeach()
    string(APPEND entries ")\n")
    foreach(expression ${expressions})
      list(FILTER tests INCLUDE REGEX "${expression}")
      if(tests)
        string(APPEND entries "set_tests_properties([==[${LABEL}.${suite}]==] PROPERTIES\n"
                              "  LABELS [==[${LABEL};trust]==])\n")
        break()
      endif()
      string(REPLACE ":" ";" tests "${names}")
    endforeach()
  endif()
  set(tests "")
endmacro()

# A suite's line ends with a dot, a test's begins with two spaces; its parameters stand behind #.
string(REGEX REPLACE " +#[^\n]*" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
foreach(line ${lines})
  if(line MATCHES "^  (.+)")
    list(APPEND tests "${suite}.${CMAKE_MATCH_1}")
  elseif(line MATCHES "^([^ ]+)\\.$")
    add_suite()
    set(suite "${CMAKE_MATCH_1}")
  endif()
endforeach()
add_suite()
file(WRITE "${FILE}" "${entries}")
