# SPDX-License-Identifier: Apache-2.0
# The compiler's options for every target of ours.
set_property(CACHE CARILLON_SANITIZE PROPERTY STRINGS "" address thread fuzzer)
if(CARILLON_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined
                 -fno-omit-frame-pointer)
elseif(CARILLON_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(CARILLON_SANITIZE STREQUAL "fuzzer")  # clang's; with its main() in tests/fuzz
  set(sanitizers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
                 -fno-omit-frame-pointer)
elseif(CARILLON_SANITIZE)
  message(FATAL_ERROR "carillon: CARILLON_SANITIZE=${CARILLON_SANITIZE} is not address, thread "
                      "or fuzzer")
endif()
if(sanitizers)  # for every target, so that an inline function is the same in all of them
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # it has another way to say so than GCC
    if(CARILLON_SANITIZE STREQUAL "thread")
      list(APPEND sanitizers -D__SANITIZE_THREAD__=1)
    else()
      # GCC's has no check of functions' types: Vulkan's headers call by types of their own.
      list(APPEND sanitizers -D__SANITIZE_ADDRESS__=1 -fno-sanitize=function)
    endif()
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizers}>")
  add_link_options(${sanitizers})
endif()

function(carillon_options target)
  set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
               -Wno-psabi  # a note on 64-byte alignment that concerns GCC before 4.6
               "$<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>")  # which is no part of GCC's -Wconversion
  if(CARILLON_SANITIZE STREQUAL "thread")
    # Fences: the policies avoid them under this sanitizer.
    list(APPEND warnings "$<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>")
  endif()
  if(CARILLON_SANITIZE)  # GCC takes memory that its own checks move about for uninitialized
    list(APPEND warnings "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
  endif()
  # In a unity build a name of another file may be taken for this file's.
  set(united "$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>")
  set(united_by_gcc "$<AND:${united},$<CXX_COMPILER_ID:GNU>>")
  list(APPEND warnings "$<${united}:-Wno-shadow>" "$<${united_by_gcc}:-Wshadow=local>"
                       "$<${united_by_gcc}:-Wno-subobject-linkage>")
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-psabi>")
  # The location of a call (CodeLocation) names a file of this project, on whichever machine it was
  # built.
  set(map "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${map}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${map}>")
  if(CARILLON_WERROR)
    target_compile_options(${target} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
                           "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
endfunction()
