/* What is linked into programs and libraries that count statements (statements.cc). Of several definitions in a process all use the first,
 * whose value the library for recording reads. */
#include <stdint.h>

__attribute__((visibility("default"), tls_model("initial-exec"))) _Thread_local uint64_t assay_statements;
