# SPDX-License-Identifier: Apache-2.0
# Puts the expressions of trust.txt's lines into `expressions`.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/trust.txt" lines REGEX "^[^#]")
set(expressions "")
foreach(line ${lines})
  string(REGEX REPLACE "^[^ ]+ +" "" expression "${line}")
  list(APPEND expressions "${expression}")
endforeach()
