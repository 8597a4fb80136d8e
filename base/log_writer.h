/* Lines on their way to standard error. Whoever logs never waits for a pipe that nobody reads
 * or a disk that stands still: lines queue up within a bound, a thread of its own writes them,
 * and what finds no room is counted. Threads: any. */
#ifndef RECIBO_BASE_LOG_WRITER_H
#define RECIBO_BASE_LOG_WRITER_H

#include "base/base.h"

/* POSIX keeps so much in one piece in a pipe, between the lines of two processes. */
#define LOG_LINE_BYTES  4096
#define LOG_QUEUE_BYTES (1u << 20)

/* From then on lines queue up; before and after they are written at once. false: the thread
 * could not be started, and lines are written at once. */
bool log_writer_start(void);
/* Waits until all is written, at most wait_ms. */
void log_writer_stop(int64_t wait_ms);
/* One line with its end, at most LOG_LINE_BYTES. */
void log_writer_put(const char *line, size_t len);
/* Lines that were lost since the start: no room, or the write failed. */
uint64_t log_writer_lost(void);

#endif
