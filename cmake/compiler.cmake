# Compiler settings shared by every target of ours.
find_program(INKSTONE_CCACHE ccache)
if(INKSTONE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${INKSTONE_CCACHE})
endif()

function(inkstone_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # No contraction: a * b + c is two roundings everywhere unless fma is written. Design rule of equal rows.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -ffp-contract=off -fvisibility=hidden
    $<$<CONFIG:Release>:-O3>)
  # GCC 12 warns of overlapping copies inside std::string's own operator+ (its bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(INKSTONE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${INKSTONE_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${INKSTONE_SANITIZE})
  endif()
endfunction()
