import { ConfigError } from '@countersign/runtime';
import { otlpProtocols } from './tracing.js';
import type { OtlpProtocol, Tracing, TracingOptions } from './tracing.js';

type Environment = TracingOptions['env'];

/**
 * Spans to an OpenTelemetry collector where the environment names one with `OTEL_EXPORTER_OTLP_ENDPOINT`, or with
 * `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; undefined, and nothing loaded, where it does not. The other `OTEL_` variables
 * (headers, timeouts, sampler, batches, attributes of the resource) mean what the OpenTelemetry specification says.
 * @throws ConfigError where the endpoint is no URL over HTTP, or the protocol is none over HTTP, such as gRPC.
 * @example
 * const tracing = await openTracing({ service: 'countersign', env: process.env, log });
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { env } = options;
  const url = isOff(env) ? undefined : urlOf(env);
  if (url === undefined) return undefined;
  const protocol = protocolOf(env);
  const { createOtlpTracing } = await import('./otlp-tracing.js');
  options.log.info({ endpoint: url.origin, protocol }, 'spans are sent to a collector');
  return createOtlpTracing({ ...options, collector: { url, protocol } });
}

function isOff(env: Environment): boolean {
  return env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none';
}

const [forTraces, forAll] = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

/** The URL for traces alone is used as it is; to the common one belongs a path, as the specification says. */
function urlOf(env: Environment): URL | undefined {
  const name = [forTraces, forAll].find((one) => (env[one] ?? '') !== '');
  if (name === undefined) return undefined;
  const text = env[name] ?? '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // It is not quoted: it may hold a password.
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new ConfigError([
      { variable: name, problem: 'must be the URL of a collector, such as http://collector:4318' },
    ]);
  }
  if (name === forAll) url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`;
  return url;
}

/** The specification's default is binary; some collectors take nothing else. */
function protocolOf(env: Environment): OtlpProtocol {
  const name = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find(
    (one) => (env[one] ?? '') !== '',
  );
  const given = name === undefined ? 'http/protobuf' : env[name];
  const protocol = otlpProtocols.find((one) => one === given);
  if (protocol !== undefined) return protocol;
  const problem =
    given === 'grpc'
      ? 'spans are sent over HTTP, not gRPC: remove it, and name the port for HTTP, usually 4318'
      : `must be ${otlpProtocols.join(' or ')}`;
  throw new ConfigError([{ variable: name ?? '', problem }]);
}
