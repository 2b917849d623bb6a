/* Decisions in the formats of other programs. Each renders the document of a command that decides (CLI_DECISIONS). */
#ifndef GATE_RENDER_RENDER_H
#define GATE_RENDER_RENDER_H

#include "base/document.h"

/* Renders GitHub's Markdown, for a mail, a comment on a change, or a step's summary: a table, and the reasons below. */
doc_renderer render_markdown;

/* Renders a test report in Jenkins's schema: regression: failure; prevented by machines or the tool: error; inconclusive: skipped. */
doc_renderer render_junit;

/* Renders workflow commands of GitHub's hosted runners, one line per decision. */
doc_renderer render_github;

/* Renders OpenMetrics 1.0 text, with only types that the textfile collector of Prometheus's node exporter also knows. */
doc_renderer render_openmetrics;

/* Renders Bencher Metric Format: the ratio of costs with its interval, and for pass, improved and regression whether it is a regression. */
doc_renderer render_bencher;

/* Renders Google Benchmark's JSON: two benchmarks per decision, "baseline/KEY" and "candidate/KEY", which its compare.py pairs by
 * `filters`. Their times are costs relative to the baseline's. A decision without a ratio is an error. */
doc_renderer render_google_benchmark;

#endif
