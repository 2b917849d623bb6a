/* Counter of statements (statements.cc), linked into programs and libraries that count them. All modules of a process use the first
 * definition of this variable. The recording library reads it. */
#include <stdint.h>

__attribute__((visibility("default"), tls_model("initial-exec"))) _Thread_local uint64_t assay_statements;
