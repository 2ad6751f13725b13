import type { Tracing, TracingOptions } from './tracing.js';

/**
 * Spans to an OpenTelemetry collector where the environment names one with `OTEL_EXPORTER_OTLP_ENDPOINT`; undefined, and
 * nothing loaded, where it does not. The other `OTEL_` variables (headers, timeouts, sampler, batches) mean what the
 * OpenTelemetry specification says.
 * @throws Error where the endpoint is no URL.
 * @example
 * const tracing = await openTracing({ service: 'countersign', env: process.env, log });
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { env } = options;
  const endpoint = env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '';
  if (endpoint === '' || env['OTEL_SDK_DISABLED'] === 'true') return undefined;
  if (!URL.canParse(endpoint)) throw new Error(`OTEL_EXPORTER_OTLP_ENDPOINT is no URL: ${endpoint}`);
  const { createOtlpTracing } = await import('./otlp-tracing.js');
  options.log.info({ endpoint: new URL(endpoint).origin }, 'spans are sent to a collector');
  return createOtlpTracing({ ...options, endpoint });
}
