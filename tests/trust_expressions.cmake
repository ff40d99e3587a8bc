# SPDX-License-Identifier: Apache-2.0
# Puts into `expressions` what the lines of trust.txt find.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/trust.txt" lines REGEX "^[^#]")
set(expressions "")
foreach(line ${lines})
  string(REGEX REPLACE "^[^ ]+ +" "" expression "${line}")
  list(APPEND expressions "${expression}")
endforeach()
