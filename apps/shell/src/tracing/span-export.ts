import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '@countersign/runtime';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-node';
import type { Collector } from './tracing.js';

/** How long the last spans may take at shutdown. The time to stop a process is shorter than an export may take. */
const closeMsMax = 2_000;

/** Sends spans over OTLP/HTTP, in batches; at most a queue of them waits. */
export function createSpanProcessor({ url, protocol }: Collector, log: Log): SpanProcessor {
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter;
  return new BatchSpanProcessor(telling(new Exporter({ url: url.href }), log));
}

/** Sends the last spans, or gives up in time. Undelivered spans do not make the shutdown fail. */
export async function closeInTime(shutdown: () => Promise<void>, log: Log): Promise<void> {
  const done = new AbortController();
  const ended = shutdown().catch(() => undefined);
  const overdue = sleep(closeMsMax, true, { signal: done.signal }).catch(() => false);
  if ((await Promise.race([ended, overdue])) === true) {
    log.warn({}, 'the last spans may be lost: the collector is too slow');
  }
  done.abort();
}

/** An exporter that logs lost spans. Requests continue without them. */
function telling(exporter: SpanExporter, log: Log): SpanExporter {
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        if (result.error !== undefined)
          log.warn({ why: reasonOf(result.error), spans: spans.length }, 'spans were not delivered');
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** In a line: the error of a refusal also has the whole answer of the collector. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? `${String(error.code)} ` : '';
  return `${code}${error.message}`.slice(0, 200);
}
