/* Decisions in the formats of other programs. Each renders the document of a command that decides (CLI_DECISIONS). */
#ifndef GATE_RENDER_RENDER_H
#define GATE_RENDER_RENDER_H

#include "base/document.h"

/* A table, and the reasons below: for a mail, a comment on a change, or a step's summary. GitHub's Markdown. */
doc_renderer render_markdown;

/* As a test report: a regression is a failure, what machines or the tool prevented an error, what stayed open skipped. Jenkins's schema. */
doc_renderer render_junit;

/* Workflow commands of GitHub's hosted runners, a line a decision. */
doc_renderer render_github;

/* OpenMetrics 1.0 text of types that the textfile collector of Prometheus's node exporter knows as well. */
doc_renderer render_openmetrics;

/* Bencher Metric Format: the ratio of costs with its interval. What has none is excluded. */
doc_renderer render_bencher;

/* Google Benchmark's JSON: two benchmarks a decision, "baseline/APPLICATION" and "candidate/APPLICATION", as its compare.py pairs them by
 * `filters`. Their times are costs relative to the baseline's. What has no ratio is excluded. */
doc_renderer render_google_benchmark;

#endif
