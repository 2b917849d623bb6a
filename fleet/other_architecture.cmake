# Hosts may be of another architecture than this machine: their helper and counting program, by a cross compiler where it is there. Static
# programs whose bytes become part of the fleet's library, beside those for hosts of this architecture.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(native_architecture aarch64)
  set(other_architecture x86_64)
else()
  set(native_architecture x86_64)
  set(other_architecture aarch64)
endif()
set(ASSAY_OTHER_ARCHITECTURE AUTO CACHE STRING "programs for hosts of ${other_architecture}: AUTO (where its compiler is there), ON, OFF")
set_property(CACHE ASSAY_OTHER_ARCHITECTURE PROPERTY STRINGS AUTO ON OFF)
set(ASSAY_OTHER_ROOT ${PROJECT_SOURCE_DIR}/build/${other_architecture} CACHE PATH "where usr/lib/${other_architecture}-linux-gnu has PAPI's static libraries")
find_program(OTHER_COMPILER ${other_architecture}-linux-gnu-gcc)
foreach(name papi pfm)
  find_library(OTHER_${name} lib${name}.a PATHS ${ASSAY_OTHER_ROOT}/usr/lib/${other_architecture}-linux-gnu
    /usr/lib/${other_architecture}-linux-gnu NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
endforeach()
if(ASSAY_OTHER_ARCHITECTURE AND NOT OTHER_COMPILER AND NOT ASSAY_OTHER_ARCHITECTURE STREQUAL AUTO)
  message(FATAL_ERROR "Programs for hosts of ${other_architecture} need ${other_architecture}-linux-gnu-gcc (sh tests/install ${other_architecture})")
endif()

# assay_cross(OUTPUT SOURCES source... OPTIONS compiler's... LINK linker's...)
function(assay_cross output)
  cmake_parse_arguments(PARSE_ARGV 1 cross "" "" "SOURCES;OPTIONS;LINK")
  foreach(source ${cross_SOURCES})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE "/" "-" name ${name})
    set(object ${output}-parts/${name}.o)
    list(APPEND objects ${object})
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${PROJECT_SOURCE_DIR}/CMakeLists.txt DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${output}-parts
      COMMAND ${OTHER_COMPILER} -std=c11 "-D$<JOIN:$<TARGET_PROPERTY:assay_plain,INTERFACE_COMPILE_DEFINITIONS>,;-D>" -I${PROJECT_SOURCE_DIR}
        "$<TARGET_PROPERTY:assay_plain,INTERFACE_COMPILE_OPTIONS>" -O2 -ffunction-sections -fdata-sections ${cross_OPTIONS}
        -MD -MF ${object}.d -c ${source} -o ${object})
  endforeach()
  add_custom_command(OUTPUT ${output} DEPENDS ${objects} VERBATIM
    COMMAND ${OTHER_COMPILER} -static -s -Wl,--gc-sections -Wl,--build-id=none -o ${output} ${objects} ${cross_LINK})
endfunction()

# Which programs there are, as definitions for the sources that embed them: PROGRAM_X86_64="path", PROGRAM_AARCH64="path".
set(other_programs) # which of them, for the tests
set(helper_programs ${helper_program})
set(counting_programs ${counting_program})
string(TOUPPER ${native_architecture} upper)
set(helper_definitions "HELPER_PROGRAM_${upper}=\"${helper_program}\"")
set(counting_definitions "COUNTING_PROGRAM_${upper}=\"${counting_program}\"")
string(TOUPPER ${other_architecture} upper)
if(NOT ASSAY_OTHER_ARCHITECTURE OR NOT OTHER_COMPILER)
  message(STATUS "Hosts of ${other_architecture}: none (without ${other_architecture}-linux-gnu-gcc, or turned off)")
else()
  get_target_property(sources helper SOURCES)
  set(program ${helper_program}-${other_architecture})
  assay_cross(${program} SOURCES ${sources})
  list(APPEND helper_programs ${program})
  string(APPEND other_programs "helper ")
  list(APPEND helper_definitions "HELPER_PROGRAM_${upper}=\"${program}\"")
  if(OTHER_papi AND OTHER_pfm)
    message(STATUS "Hosts of ${other_architecture}: helper and counting program")
    get_target_property(sources counting SOURCES)
    set(program ${counting_program}-${other_architecture})
    assay_cross(${program} SOURCES ${sources} OPTIONS -isystem ${PAPI_INCLUDE}
      LINK -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror ${OTHER_papi} ${OTHER_pfm})
    list(APPEND counting_programs ${program})
    string(APPEND other_programs "counting ")
    list(APPEND counting_definitions "COUNTING_PROGRAM_${upper}=\"${program}\"")
  else()
    message(STATUS "Hosts of ${other_architecture}: helper, but no counting program: PAPI's static libraries are not in ${ASSAY_OTHER_ROOT} "
      "(sh tests/other_packages ${ASSAY_OTHER_ROOT} libpapi-dev libpfm4-dev)")
  endif()
endif()
add_custom_target(other_programs DEPENDS ${helper_programs} ${counting_programs})
