# Canelé's own interface for C and C++: find_package(canele), then link with canele::canele.
# Packages of distributions have a link to this file.
get_filename_component(canele_prefix "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
get_filename_component(canele_prefix "${canele_prefix}/../../../.." ABSOLUTE)
if(NOT TARGET canele::canele)
    add_library(canele::canele SHARED IMPORTED)
    set_target_properties(canele::canele PROPERTIES
        IMPORTED_LOCATION "${canele_prefix}/lib/canele/libcanele.so.0"
        IMPORTED_SONAME "libcanele.so.0"
        INTERFACE_INCLUDE_DIRECTORIES "${canele_prefix}/include")
endif()
set(canele_VERSION "@version@")
