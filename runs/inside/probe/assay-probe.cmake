# For CMake projects whose functions `assay record --for functions` shall measure:
#
#   include(assay-probe.cmake)
#   assay_probe(TARGET...)            compile these so that their functions can be probed: costs next to nothing until they are
#   assay_probe(TARGET... LINK)       and link them with the probe, for programs that are started without LD_PRELOAD
#
# Programs and shared libraries that link static libraries compiled so are named too: C++ needs assay-probe.ld, which stands beside this file.
# assay_probe_instrumented(TARGET...) is for systems that do not let a program change its own code: slower, at every call.
set(assay_probe_script ${CMAKE_CURRENT_LIST_DIR}/assay-probe.ld)
function(assay_probe)
  cmake_parse_arguments(PARSE_ARGV 0 probe "LINK" "" "")
  foreach(target IN LISTS probe_UNPARSED_ARGUMENTS)
    target_compile_options(${target} PRIVATE -g "$<$<COMPILE_LANGUAGE:C,CXX>:-fpatchable-function-entry=5;-falign-loops=32>")
    target_link_options(${target} PRIVATE $<$<LINK_LANG_AND_ID:CXX,GNU>:-Wl,-T,${assay_probe_script}>)
    if(probe_LINK)
      find_library(ASSAY_PROBE_LIBRARY assay-probe REQUIRED)
      target_link_libraries(${target} PRIVATE -Wl,--no-as-needed ${ASSAY_PROBE_LIBRARY} -Wl,--as-needed)
    endif()
  endforeach()
endfunction()

function(assay_probe_instrumented)
  foreach(target IN LISTS ARGN)
    find_library(ASSAY_PROBE_LIBRARY assay-probe REQUIRED)
    target_compile_options(${target} PRIVATE -g $<$<COMPILE_LANGUAGE:C,CXX>:-finstrument-functions>)
    target_link_libraries(${target} PRIVATE -Wl,--no-as-needed ${ASSAY_PROBE_LIBRARY} -Wl,--as-needed)
  endforeach()
endfunction()
